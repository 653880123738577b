import { type Instance, render, useInput } from 'ink'
import type { ReactNode } from 'react'

/** A screen that redraws itself on the terminal until the person leaves it with q or Ctrl-C. */
export type LiveScreen = Readonly<{
  /** Aborts when the person leaves or the command is interrupted. */
  signal: AbortSignal
  draw: () => void
  /** Draws a last time, without the key help, and leaves the screen on the terminal. */
  close: () => Promise<void>
}>

/** `content` renders the screen (undefined while there is nothing to show); `keys`: keys work. */
export function openLiveScreen(interrupt: AbortSignal, content: (keys: boolean) => ReactNode | undefined): LiveScreen {
  const left = new AbortController()
  const canRead = process.stdin.isTTY === true // keys come from a terminal only
  let instance: Instance | undefined
  let stopResizing: (() => void) | undefined
  const draw = (keys: boolean) => {
    const screen = content(keys && canRead)
    if (screen === undefined) return
    const tree = <Keys active={keys && canRead} leave={() => left.abort()} screen={screen} />
    if (instance) return instance.rerender(tree)
    instance = render(tree, { stdout: preserveScrollback(process.stdout), exitOnCtrlC: false, patchConsole: false })
    if (keys) stopResizing = onResize(process.stdout, () => draw(true))
  }
  return {
    signal: AbortSignal.any([interrupt, left.signal]),
    draw: () => draw(true),
    close: async () => {
      stopResizing?.()
      draw(false)
      instance?.unmount()
      await instance?.waitUntilExit()
    },
  }
}

function Keys({ active, leave, screen }: { active: boolean; leave: () => void; screen: ReactNode }) {
  useInput(
    (input, key) => {
      if (input === 'q' || (key.ctrl && input === 'c')) leave()
    },
    { isActive: active },
  )
  return <>{screen}</>
}

/** ink writes this when a board no longer fits the terminal: it clears the screen and the scrollback. */
const clearAll = '\u001b[2J\u001b[3J\u001b[H'
const clearScreen = '\u001b[H\u001b[J'

/** Wraps the terminal so that ink clears the screen but never the scrollback. */
export function preserveScrollback<Terminal extends Pick<NodeJS.WriteStream, 'write'>>(terminal: Terminal): Terminal {
  const write = (text: unknown, ...rest: unknown[]) =>
    Reflect.apply(terminal.write, terminal, [typeof text === 'string' ? text.replace(clearAll, clearScreen) : text, ...rest])
  return new Proxy(terminal, {
    get: (target, name) => {
      if (name === 'write') return write
      const value: unknown = Reflect.get(target, name, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

type ResizableTerminal = Readonly<{
  columns: number
  rows: number
  write: (text: string) => unknown
  prependListener: (event: 'resize', listener: () => void) => unknown
  off: (event: 'resize', listener: () => void) => unknown
}>

/**
 * Redraws before ink does when the terminal is resized. A narrower terminal rewraps the lines on screen to an unknown number of rows, so they
 * are scrolled out of sight and the board starts at the top. Returns a function that removes the listener.
 */
export function onResize(terminal: ResizableTerminal, draw: () => void): () => void {
  let { columns } = terminal
  let isAtTop = false
  const resized = () => {
    if (terminal.columns < columns) {
      terminal.write(isAtTop ? clearScreen : scrollAway(terminal.rows))
      isAtTop = true
    }
    columns = terminal.columns
    draw()
  }
  terminal.prependListener('resize', resized)
  return () => void terminal.off('resize', resized)
}

const scrollAway = (rows: number) => `\u001b[${rows};1H${'\n'.repeat(rows)}\u001b[H`
