/** The terminal, as far as its size matters. */
type Terminal = Readonly<{
  columns: number
  rows: number
  write: (text: string) => unknown
  prependListener: (event: 'resize', told: () => void) => unknown
  off: (event: 'resize', told: () => void) => unknown
}>

/**
 * Draws anew at once when the terminal has another size, before ink draws what was meant for the old one. Lines that had room before were
 * broken by a narrower terminal: how many rows they now take nobody knows, so all that stands is moved out of sight, and the board begins at
 * the top. Answers how to stop.
 */
export function whenResized(terminal: Terminal, draw: () => void): () => void {
  let { columns } = terminal
  let isAtTop = false
  const resized = () => {
    if (terminal.columns < columns) {
      terminal.write(isAtTop ? eraseAll : moveAway(terminal.rows))
      isAtTop = true
    }
    columns = terminal.columns
    draw()
  }
  terminal.prependListener('resize', resized)
  return () => void terminal.off('resize', resized)
}

const home = '\u001b[H'
const eraseAll = `${home}\u001b[J`

/** Into what can be scrolled back to: what was typed before the board is nobody's to erase. */
const moveAway = (rows: number) => `\u001b[${rows};1H${'\n'.repeat(rows)}${home}`
