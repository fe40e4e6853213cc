/**
 * Runs a program on a terminal with the given number of columns, and copies the output on its screen to stdout. A
 * `wrapper` for `startHeadgate`; it uses Python, because Node has no calls for pseudo-terminals. It removes `CI`,
 * `FORCE_COLOR` and `NODE_DISABLE_COLORS`, with which Node ignores what the terminal can show.
 */
export function onTerminal(columns: number): string[] {
  return ["python3", "-c", RUN_ON_TERMINAL, String(columns)];
}

const RUN_ON_TERMINAL = `
import fcntl, os, pty, struct, sys, termios
pid, screen = pty.fork()
if pid == 0:
    for variable in ("CI", "FORCE_COLOR", "NODE_DISABLE_COLORS"):
        os.environ.pop(variable, None)
    fcntl.ioctl(2, termios.TIOCSWINSZ, struct.pack("HHHH", 40, int(sys.argv[1]), 0, 0))
    os.execvp(sys.argv[2], sys.argv[2:])
while True:
    try:
        shown = os.read(screen, 65536)
    except OSError:
        break
    if not shown:
        break
    os.write(1, shown)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
`;
