/** What ink writes where a board no longer fits a terminal that lost height: it empties the screen, and all that can be scrolled back to. */
const emptyAll = '\u001b[2J\u001b[3J\u001b[H'
const emptyScreen = '\u001b[H\u001b[J'

type Terminal = Pick<NodeJS.WriteStream, 'write'>

/** The terminal as ink may have it: what was typed before the board is nobody's to erase. On the screen itself only the board stands then. */
export function keptScrollback<Of extends Terminal>(terminal: Of): Of {
  const write = (text: unknown, ...rest: unknown[]) =>
    Reflect.apply(terminal.write, terminal, [typeof text === 'string' ? text.replace(emptyAll, emptyScreen) : text, ...rest])
  return new Proxy(terminal, {
    get: (target, name) => {
      if (name === 'write') return write
      const value: unknown = Reflect.get(target, name, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}
