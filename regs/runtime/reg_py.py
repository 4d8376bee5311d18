# SPDX-License-Identifier: Apache-2.0
"""Registers and in-memory descriptors for bring-up scripts. Python 3.11 or newer, nothing else.

    bus = MmapBus("/sys/bus/pci/devices/0000:01:00.0/resource2")    # or anything with read32 and write32
    csr = CsrBlock(bus)
    csr.check_map_hash()                    # raises MapMismatch: the device has another map
    print(csr.DMA_CFG.read())               # 0x00000121 mps=1 mrrs=2 relaxed=1
    csr.DMA_CFG.read()["mrrs"]              # 2; values of an enumeration are members of it
    csr.DMA_CFG.write(mps=2)                # fields not named: their reset value, or what changes nothing
    csr.DMA_CFG.modify(mrrs=1)              # read, change, write; AccessError where that could do harm
    csr.DMA_CFG["mps"].set(2)               # modify of one field; .get() reads it
    csr.GPU_BASE[3].read_raw()              # element of an array; whole value

Attributes stand for names (csr.DMA_CFG.mps); where a field has the name of a method, brackets always work. A bus has
read32(offset) and write32(offset, value), offsets in its BAR.
"""

import enum
import mmap
import os


class MapError(Exception):
    """Base of the errors of this module."""


class AccessError(MapError):
    """An access that does not exist, or that could do harm."""


class MapMismatch(MapError):
    """The device was built from another map."""


class MmapBus:
    """A PCI resource file (or any file) as a bus of aligned 32-bit accesses."""

    def __init__(self, path, size=None, offset=0):
        fd = os.open(path, os.O_RDWR | getattr(os, "O_SYNC", 0))
        try:
            self._map = mmap.mmap(fd, size or os.fstat(fd).st_size - offset, offset=offset)
        finally:
            os.close(fd)
        self._words = memoryview(self._map).cast("I")  # an item is one load or store of 32 bits

    def read32(self, offset):
        return self._words[self._index(offset)]

    def write32(self, offset, value):
        self._words[self._index(offset)] = value

    def _index(self, offset):
        if offset % 4 or not 0 <= offset < 4 * len(self._words):
            raise AccessError(f"offset {offset:#x} is not aligned, or outside of {4 * len(self._words):#x} bytes")
        return offset // 4

    def close(self):
        self._words.release()
        self._map.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class FieldInfo:
    """A field: name, lsb, width, access, reset, enum (or None), and what software must know of it."""

    __slots__ = ("name", "lsb", "width", "access", "reset", "enum", "flags", "readable", "on_write", "on_read")

    def __init__(self, name, lsb, width, access, reset, enum_type, flags):
        self.name, self.lsb, self.width, self.access = name, lsb, width, access
        self.reset, self.enum, self.flags = reset, enum_type, flags
        self.readable, self.on_write, self.on_read = _ACCESS[access]

    @property
    def mask(self):
        return ((1 << self.width) - 1) << self.lsb

    def get(self, value):
        return _as_member(self.enum, (value & self.mask) >> self.lsb)

    def put(self, value):
        return _number(self, value) << self.lsb

    def neutral(self):
        """What may be written without meaning it, as a value of the field; None when every write acts."""
        if self.on_write == "store":
            return self.reset
        if self.on_write in ("clear", "set"):
            return None
        return (1 << self.width) - 1 if self.on_write.startswith("zero") else 0


def _as_member(enum_type, value):
    if enum_type is None:
        return value
    try:
        return enum_type(value)
    except ValueError:
        return value  # no name for it


def _number(field, value):
    if isinstance(value, str):
        if field.enum is None or value not in field.enum.__members__:
            raise ValueError(f"{field.name} has no value named {value!r}")
        value = field.enum[value]
    value = int(value)
    if not 0 <= value < 1 << field.width:
        raise ValueError(f"{value:#x} does not fit into {field.name}, {field.width} bits")
    return value


def _text(value):
    return value.name if isinstance(value, enum.Enum) else str(value)


class Value(int):
    """What was read: a number, with the fields by name."""

    def __new__(cls, register, value):
        self = super().__new__(cls, value)
        self._register = register
        return self

    def __getitem__(self, name):
        return self._register.field(name).get(int(self))

    def __getattr__(self, name):
        if name.startswith("_") or name not in self._register.info.fields:
            raise AttributeError(f"{self._register.name} has no field {name!r}")
        return self[name]

    def as_dict(self):
        return {name: self[name] for name in self._register.info.fields}

    def __str__(self):
        fields = " ".join(f"{k}={_text(v)}" for k, v in self.as_dict().items())
        return f"0x{int(self):0{self._register.info.width // 4}x} {fields}"

    __repr__ = __str__


class RegisterInfo:
    """A register: name, offset of element 0, width, dims ((count, stride), outermost first), fields by name."""

    __slots__ = ("name", "offset", "width", "dims", "fields", "readable", "writable", "reset")

    def __init__(self, name, offset, width, dims, fields):
        self.name, self.offset, self.width, self.dims = name, offset, width, dims
        self.fields = {f[0]: FieldInfo(*f) for f in fields}
        infos = self.fields.values()
        self.readable = any(f.readable for f in infos)
        self.writable = any(f.on_write != "none" for f in infos)
        self.reset = sum(f.reset << f.lsb for f in infos)


class BoundField:
    """One field of one register of a device."""

    def __init__(self, register, info):
        self.register, self.info = register, info

    def get(self):
        return self.register.read()[self.info.name]

    def set(self, value):
        self.register.modify(**{self.info.name: value})


class Register:
    """One register of a device, or one element of an array."""

    def __init__(self, block, info, address, name):
        self.block, self.info, self.address, self.name = block, info, address, name

    def __repr__(self):
        return f"<{self.block.NAME}.{self.name} at {self.address:#x}>"

    def field(self, name):
        try:
            return self.info.fields[name]
        except KeyError:
            raise AttributeError(f"{self.name} has no field {name!r}: {', '.join(self.info.fields)}") from None

    def __getitem__(self, name):
        return BoundField(self, self.field(name))

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return self[name]

    def __dir__(self):
        return [*super().__dir__(), *self.info.fields]

    def read_raw(self):
        """The whole value. Of 64 bits the low word first: it takes the snapshot."""
        if not self.info.readable:
            raise AccessError(f"{self.name} cannot be read")
        low = self.block.bus.read32(self.address)
        if self.info.width == 32:
            return low
        return low | self.block.bus.read32(self.address + 4) << 32

    def write_raw(self, value):
        """The whole value, whatever it does. Of 64 bits the high word last: it commits both."""
        if not self.info.writable:
            raise AccessError(f"{self.name} cannot be written")
        value = int(value)
        if not 0 <= value < 1 << self.info.width:
            raise ValueError(f"{value:#x} does not fit into {self.name}, {self.info.width} bits")
        self.block.bus.write32(self.address, value & 0xFFFFFFFF)
        if self.info.width == 64:
            self.block.bus.write32(self.address + 4, value >> 32)

    def read(self):
        return Value(self, self.read_raw())

    def _check_named(self, fields):
        for name in fields:
            if self.field(name).on_write == "none":
                raise AccessError(f"{self.name}.{name} cannot be written")

    def write(self, **fields):
        """Writes without a read; fields not named get their reset value, or what changes nothing."""
        self._check_named(fields)
        value = 0
        for f in self.info.fields.values():
            if f.on_write == "none":
                continue
            v = fields.get(f.name, f.neutral())
            if v is None:
                raise AccessError(f"every write acts on {self.name}.{f.name}: name it, or use write_raw")
            value |= f.put(v)
        self.write_raw(value)

    def modify(self, **fields):
        """Reads, changes the named fields, writes; AccessError where that could lose something."""
        self._check_named(fields)
        for f in self.info.fields.values():
            if f.on_read != "none":
                raise AccessError(f"a read acts on {self.name}.{f.name}: use write")
            if f.name not in fields and (f.neutral() is None or "u" in f.flags):
                raise AccessError(f"to write back what was read could change {self.name}.{f.name}: use write")
        old = self.read_raw()
        value = 0
        for f in self.info.fields.values():
            if f.name in fields:
                value |= f.put(fields[f.name])
            elif f.on_write == "store":
                value |= old & f.mask
            elif f.on_write != "none":
                value |= f.put(f.neutral())
        self.write_raw(value)


class RegisterArray:
    """Elements by index; several dimensions by several indices or a tuple."""

    def __init__(self, block, info, dims, address, name):
        self.block, self.info, self._dims, self._address, self.name = block, info, dims, address, name

    def __len__(self):
        return self._dims[0][0]

    def __getitem__(self, index):
        if isinstance(index, tuple):
            item = self
            for i in index:
                item = item[i]
            return item
        count, stride = self._dims[0]
        if not 0 <= index < count:
            raise IndexError(f"{self.name}[{index}]: there are {count}")
        address = self._address + index * stride
        name = f"{self.name}[{index}]"
        if len(self._dims) == 1:
            return Register(self.block, self.info, address, name)
        return RegisterArray(self.block, self.info, self._dims[1:], address, name)

    def __iter__(self):
        return (self[i] for i in range(len(self)))


class Window:
    """An address range: words and bytes by the offset in it."""

    def __init__(self, block, name, address, size, writable):
        self.block, self.name, self.address, self.size, self.writable = block, name, address, size, writable

    def _at(self, offset, size):
        if offset % 4 or not 0 <= offset <= self.size - size:
            raise AccessError(f"offset {offset:#x} of window {self.name} is not aligned, or outside")
        return self.address + offset

    def read32(self, offset):
        return self.block.bus.read32(self._at(offset, 4))

    def write32(self, offset, value):
        if not self.writable:
            raise AccessError(f"window {self.name} cannot be written")
        self.block.bus.write32(self._at(offset, 4), value)

    def read_bytes(self, offset, size):
        return b"".join(self.read32(offset + i).to_bytes(4, "little") for i in range(0, size, 4))[:size]

    def write_bytes(self, offset, data):
        """Whole words; the rest of the last one is written as 0."""
        for i in range(0, len(data), 4):
            self.write32(offset + i, int.from_bytes(data[i:i + 4], "little"))


class Block:
    """Registers and windows of one block of a device; `base` is its offset in the bus."""

    NAME, BAR, SIZE, STRIDE = "", 0, 0, 0
    _REGISTERS, _WINDOWS, _HASH, _COUNTERS = (), (), None, None
    _infos = None

    def __init__(self, bus, base=0):
        self.bus, self.base = bus, base

    @classmethod
    def registers(cls):
        """RegisterInfo of every register, by name."""
        if "_infos" not in cls.__dict__:
            cls._infos = {r[0]: RegisterInfo(*r) for r in cls._REGISTERS}
        return cls._infos

    @classmethod
    def windows(cls):
        return {w[0]: w for w in cls._WINDOWS}

    def __getitem__(self, name):
        info = self.registers().get(name)
        if info is not None:
            address = self.base + info.offset
            if info.dims:
                return RegisterArray(self, info, info.dims, address, name)
            return Register(self, info, address, name)
        if name in self.windows():
            _, offset, size, writable = self.windows()[name]
            return Window(self, name, self.base + offset, size, writable)
        raise AttributeError(f"block {self.NAME} has no register or window {name!r}")

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return self[name]

    def __dir__(self):
        return [*super().__dir__(), *self.registers(), *self.windows()]

    def check_map_hash(self):
        """Raises MapMismatch unless the device shows the hash of this map."""
        if self._HASH is None:
            raise AccessError(f"block {self.NAME} has no field with the map hash")
        register, field = self._HASH
        got = self[register].read()[field]
        if got != MAP_HASH:
            raise MapMismatch(f"the device has map {got:#010x}, this module is of {MAP_HASH:#010x}")

    def counters(self):
        """Values of the counters, by name."""
        if self._COUNTERS is None:
            raise AccessError(f"block {self.NAME} has no window with counters")
        window = self[self._COUNTERS]
        return {name: window.read32(8 * i) | window.read32(8 * i + 4) << 32 for i, name in enumerate(COUNTERS)}

    def dump(self):
        """Lines "offset: value" of what can be read without harm, as `rnic-regs decode` takes them."""
        lines = []
        for info in self.registers().values():
            if not info.readable or any(f.on_read != "none" for f in info.fields.values()):
                continue
            for register in _elements(self[info.name]):
                value = register.read_raw()
                for i in range(info.width // 32):
                    lines.append(f"{register.address - self.base + 4 * i:#x}: {value >> 32 * i & 0xFFFFFFFF:#x}")
        return "\n".join(lines) + "\n"


def _elements(item):
    if isinstance(item, RegisterArray):
        for element in item:
            yield from _elements(element)
    else:
        yield item


class DescriptorField:
    __slots__ = ("name", "lsb", "width", "is_bytes", "enum")

    def __init__(self, name, lsb, width, is_bytes, enum_type):
        self.name, self.lsb, self.width, self.is_bytes, self.enum = name, lsb, width, is_bytes, enum_type

    def get(self, data):
        if self.is_bytes:
            return bytes(data[self.lsb // 8:(self.lsb + self.width) // 8])
        first, last = self.lsb // 8, (self.lsb + self.width + 7) // 8
        value = int.from_bytes(data[first:last], "little") >> self.lsb % 8
        return _as_member(self.enum, value & (1 << self.width) - 1)

    def put(self, data, value):
        if self.is_bytes:
            if len(value) != self.width // 8:
                raise ValueError(f"{self.name} is {self.width // 8} bytes, not {len(value)}")
            data[self.lsb // 8:(self.lsb + self.width) // 8] = value
            return
        first, last = self.lsb // 8, (self.lsb + self.width + 7) // 8
        mask = (1 << self.width) - 1 << self.lsb % 8
        old = int.from_bytes(data[first:last], "little") & ~mask
        data[first:last] = (old | _number(self, value) << self.lsb % 8).to_bytes(last - first, "little")


class Descriptor:
    """A layout in memory: fields by name, pack() to bytes, unpack() from bytes.

        cqe = CqeDesc.unpack(data); cqe.status; cqe["status"]; str(cqe)
        data = WqeDesc(opcode="WRITE", rkey=0x1234).pack()     # what is not given is 0

    Fields of a union are there when its tag has a value of theirs.
    """

    NAME, SIZE = "", 0
    _FIELDS, _UNIONS = (), ()  # _UNIONS: (tag, ((variant, values, fields), ...)), ...

    def __init__(self, **values):
        object.__setattr__(self, "_values", {})
        for name, value in values.items():
            self[name] = value

    @classmethod
    def _all_fields(cls, values):
        """The fields that are there for these values of the tags."""
        fields = {f[0]: DescriptorField(*f) for f in cls._FIELDS}
        for tag, variants in cls._UNIONS:
            value = _number(fields[tag], values.get(tag, 0))
            for _, when, more in variants:
                if value in when:
                    fields.update((f[0], DescriptorField(*f)) for f in more)
        return fields

    @classmethod
    def _names(cls):
        names = [f[0] for f in cls._FIELDS]
        return names + [f[0] for _, variants in cls._UNIONS for v in variants for f in v[2]]

    def __setitem__(self, name, value):
        if name not in self._names():
            raise AttributeError(f"{self.NAME} has no field {name!r}")
        self._values[name] = value

    def __getitem__(self, name):
        field = self._all_fields(self._values).get(name)
        if field is None:
            raise AttributeError(f"{self.NAME} has no field {name!r} here")
        if name not in self._values:
            return bytes(field.width // 8) if field.is_bytes else _as_member(field.enum, 0)
        value = self._values[name]
        return bytes(value) if field.is_bytes else _as_member(field.enum, _number(field, value))

    __setattr__ = __setitem__

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return self[name]

    def as_dict(self):
        return {name: self[name] for name in self._all_fields(self._values)}

    def pack(self):
        fields = self._all_fields(self._values)
        data = bytearray(self.SIZE)
        for name, value in self._values.items():
            if name not in fields:
                raise ValueError(f"{self.NAME} has {name} only with another value of its tag")
            fields[name].put(data, value)
        return bytes(data)

    @classmethod
    def unpack(cls, data):
        if len(data) != cls.SIZE:
            raise ValueError(f"{cls.NAME} is {cls.SIZE} bytes, not {len(data)}")
        tags = {f[0]: DescriptorField(*f).get(data) for f in cls._FIELDS}
        return cls(**{name: f.get(data) for name, f in cls._all_fields(tags).items()})

    def __eq__(self, other):
        return type(self) is type(other) and self.as_dict() == other.as_dict()

    __hash__ = None

    def __repr__(self):
        values = (f"{k}={v.hex() if isinstance(v, bytes) else _text(v)}" for k, v in self.as_dict().items())
        return f"{self.NAME}({' '.join(values)})"
