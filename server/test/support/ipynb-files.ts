/** Files as Jupyter writes them. */
export type Ipynb = Record<string, unknown> & { cells: Record<string, unknown>[] };

const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==\n";

/** nbformat 4.5 with every kind of cell and output, and metadata of extensions. */
export function pythonFile(): Ipynb {
  return {
    cells: [
      {
        cell_type: "markdown",
        id: "intro",
        metadata: { slideshow: { slide_type: "slide" } },
        source: ["# Sales\n", "![chart](attachment:chart.png)"],
        attachments: { "chart.png": { "image/png": PIXEL } },
      },
      {
        cell_type: "code",
        id: "plot",
        metadata: { scrolled: true, tags: ["keep"] },
        execution_count: 3,
        outputs: [
          { output_type: "stream", name: "stdout", text: ["loading\n", "50 %\u0000\r100 %\n"] },
          {
            output_type: "display_data",
            data: { "image/png": PIXEL, "text/plain": ["<Figure size 640x480>"] },
            metadata: { needs_background: "light" },
          },
          {
            output_type: "execute_result",
            execution_count: 3,
            data: { "application/json": { rows: [1, null, 2.5], ["__proto__"]: { x: 1 } }, "text/html": "<b>3</b>" },
            metadata: {},
          },
        ],
        source: ["import pandas as pd\n", "\n", "df.plot()"],
      },
      {
        cell_type: "code",
        id: "query",
        metadata: {},
        execution_count: null,
        outputs: [],
        source: ["%%sql\n", "select 1"],
      },
      {
        cell_type: "code",
        id: "broken",
        metadata: {},
        execution_count: 4,
        outputs: [
          {
            output_type: "error",
            ename: "ZeroDivisionError",
            evalue: "division by zero",
            traceback: ["\u001b[0;31mZeroDivisionError\u001b[0m: division by zero"],
          },
        ],
        source: "1 / 0",
      },
      { cell_type: "raw", id: "raw", metadata: { format: "text/restructuredtext" }, source: ["..note::\n"] },
      { cell_type: "code", id: "empty", metadata: {}, execution_count: null, outputs: [], source: [] },
    ],
    metadata: {
      kernelspec: { display_name: "Python 3 (ipykernel)", language: "python", name: "python3" },
      language_info: { codemirror_mode: { name: "ipython", version: 3 }, name: "python", version: "3.12.1" },
      widgets: { state: { "5a": { model_name: "Layout", value: null } } },
    },
    nbformat: 4,
    nbformat_minor: 5,
  };
}

/** nbformat 4.2, without ids, as the kernels of sparkmagic write it. */
export function scalaFile(): Ipynb {
  return {
    cells: [
      { cell_type: "code", execution_count: 1, metadata: {}, outputs: [], source: ["val x = 1\n", "x + 1"] },
      {
        cell_type: "code",
        execution_count: null,
        metadata: {},
        outputs: [],
        source: ["%%sql -o result\n", "select 1"],
      },
    ],
    metadata: {
      kernelspec: { display_name: "Spark", language: "", name: "sparkkernel" },
      language_info: { mimetype: "text/x-scala", name: "scala" },
    },
    nbformat: 4,
    nbformat_minor: 2,
  };
}
