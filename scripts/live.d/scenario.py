# SPDX-License-Identifier: Apache-2.0
"""The scenario file of one case, for `rnic-sim live` (keys: sim/live/README.md)."""

NIC_MAC = "02:00:00:00:00:01"
NIC_IP4 = "10.77.0.9"
NIC_IP6 = "fd77::9"


def scalar(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return str(value)
    return "'" + str(value).replace("'", "''") + "'"


def flow(value):
    """YAML on one line."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {flow(entry)}" for key, entry in value.items()) + "}"
    return scalar(value)


def text(tree, depth=0):
    """YAML of nested maps; lists stand one entry a line."""
    lines = []
    for key, value in tree.items():
        lead = "  " * depth + f"{key}:"
        if isinstance(value, dict):
            lines += [lead, *text(value, depth + 1)]
        elif isinstance(value, list):
            lines += [lead, *("  " * (depth + 1) + f"- {flow(entry)}" for entry in value)]
        else:
            lines.append(f"{lead} {scalar(value)}")
    return lines


def tree(case, runs, seed, limit):
    """`runs`: (command, expected status) of each tool of the NIC; `limit`: seconds."""
    live = {"mac": NIC_MAC, "ip": NIC_IP4, "ip6": NIC_IP6, "patience": case.patience, "limit": f"{limit:g} s", "runs": []}
    if case.over_cm:
        # The peer remembers connections for a while: ids and QP numbers of one case must not come again in the next.
        live |= {"cm_response": case.cm_response, "first_qpn": 2 + seed % 200}
    for command, expect in runs:
        entry = {"run": command}
        if expect != "SUCCESS":
            entry["expect"] = expect
        live["runs"].append(entry)
    if case.reset_after:
        live["runs"][0]["reset_after"] = case.reset_after
    if case.kill_after or case.stop_after:
        live["runs"][0]["pause_after"] = case.kill_after or case.stop_after
    result = {"title": case.name, "seed": seed, "nic": {"mtu": case.mtu}, "live": live}
    if case.faults:
        result["wire"] = {"faults": case.faults}
    return result


def write(path, case, runs, seed, limit):
    head = ["# SPDX-License-Identifier: Apache-2.0", f"# Written by scripts/live: {case.name}"]
    path.write_text("\n".join([*head, *text(tree(case, runs, seed, limit))]) + "\n")
