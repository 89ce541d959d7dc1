"""The graph of `heed look --flow` as GraphML and JSON, opened by networkx, and as DOT where pydot is there.

Runs where networkx is installed, else says why it does not. Usage:
    python tests/peers/graph_test.py build/release/heed
"""

import json
import pathlib
import sys
import tempfile

from places import SKIPPED
from program import heed

try:
    import networkx
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(SKIPPED)

TEXT = "The king had a <daughter> & he said \"no\"."


def graphs(program, scratch):
    for name in ("flow.graphml", "flow.json", "flow.dot"):
        file = pathlib.Path(scratch) / name
        heed(program, "look", TEXT, "--flow", "-o", file)
        if name.endswith("graphml"):
            yield name, networkx.read_graphml(file)
        elif name.endswith("json"):
            yield name, networkx.node_link_graph(json.loads(file.read_text()), edges="edges")
        else:
            try:
                import pydot  # noqa: F401
            except ImportError:
                print("flow.dot: not opened, pydot is not installed")
                continue
            yield name, networkx.DiGraph(networkx.nx_pydot.read_dot(file))


def check(name, graph):
    assert graph.is_directed(), name
    nodes = {node: data for node, data in graph.nodes(data=True) if "level" in data}
    top = max(int(data["level"]) for data in nodes.values())
    for level in range(top + 1):
        share = sum(float(data["share"]) for data in nodes.values() if int(data["level"]) == level)
        assert abs(share - 1) < 1e-5, (name, level, share)
    for source, target, data in graph.edges(data=True):
        assert int(nodes[target]["level"]) == int(nodes[source]["level"]) + 1, (name, source, target)
        assert 0 < float(data["weight"]) <= 1 + 1e-6, (name, data)
    position = [node for node, data in nodes.items() if int(data["level"]) == top]
    assert len(position) == 1, (name, position)
    assert networkx.is_directed_acyclic_graph(graph), name
    print(f"{name}: {len(nodes)} nodes, {graph.number_of_edges()} edges")
    return sorted(nodes), graph.number_of_edges()


def main():
    with tempfile.TemporaryDirectory() as scratch:
        read = [check(name, graph) for name, graph in graphs(sys.argv[1], scratch)]
    assert all(each[1] == read[0][1] for each in read), "the formats differ"
    return 0


if __name__ == "__main__":
    sys.exit(main())
