/**
 * Three nodes on one database: the files of a command are on the node that ran it, an app's server may run on each of
 * them, and later attempts of a copy run only on the node that has its journal. Each node can report on all of this.
 *
 * The tests are in `many-nodes/`, and share the nodes, because starting them takes seconds of CPU time.
 */
import { testApps } from "./many-nodes/apps.ts";
import { testCopies } from "./many-nodes/copies.ts";
import { testLostNode } from "./many-nodes/lost-node.ts";
import { testRunningCommands } from "./many-nodes/running-commands.ts";
import { useThreeNodes } from "./many-nodes/three-nodes.ts";

const three = useThreeNodes();

testRunningCommands(three);
testApps(three);
testCopies(three);
testLostNode(three);
