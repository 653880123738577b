import { Box, type Instance, render, Text } from 'ink'
import { isProblem } from '../../core/kit/index.ts'
import type { RateLimits } from '../../core/limits/index.ts'
import { Keys, keptScrollback, whenResized } from '../board/index.ts'
import { type Context, padStart, type Style, shorten } from '../kit/index.ts'
import { limitsView, type TopQuery } from './top.ts'

/** What is known while somebody looks: the last answer, and why there is no newer one. */
export type TopState = Readonly<{ answer: RateLimits | undefined; trouble: string | undefined }>

type Shown = Readonly<{ state: TopState; style: Style; rows: number; keys: boolean }>

/** Title, a line of trouble, the empty lines, what to press, and the row that the cursor rests on. */
const frameRows = 7

/** How many tenants fit below each other. */
export const fitting = (rows: number): number => Math.max(1, rows - frameRows - 1)

/** The whole board. It keeps within the terminal: never a line more than there are rows. */
export function Screen({ state: { answer, trouble }, style, rows, keys }: Shown) {
  const { paint, width, now } = style
  const where = answer && (answer.store === 'redis' ? 'all daemons' : 'this daemon')
  const right = `${where ? `${where}   ` : ''}${now.toISOString().slice(11, 19)} UTC`
  const title = 'Requests of the last minute'
  return (
    <Box flexDirection="column">
      <Text wrap="truncate">{`${paint.bold(title)}${paint.dim(padStart(right, width - title.length))}`}</Text>
      <Text> </Text>
      {answer && <Text wrap="truncate">{tableOf(answer, style, rows)}</Text>}
      {trouble && <Text wrap="truncate">{`\n${paint.yellow(shorten(trouble, width))}`}</Text>}
      {keys && <Text>{`\n${paint.dim('q leaves the board')}`}</Text>}
    </Box>
  )
}

const tableOf = (answer: RateLimits, style: Style, rows: number): string =>
  limitsView({ ...answer, tenants: answer.tenants.slice(0, fitting(rows)), nextCursor: null }, style)

/** Shows who uses how much until the person leaves with q or Ctrl-C; the last screen stays. Answers what was seen last. */
export async function showTop(context: Context, query: TopQuery, everyMs: number): Promise<RateLimits | undefined> {
  const left = new AbortController()
  const canRead = process.stdin.isTTY === true // keys come from a terminal only
  const signal = AbortSignal.any([context.signal, left.signal])
  let state: TopState = { answer: undefined, trouble: undefined }
  let instance: Instance | undefined
  let stopped: (() => void) | undefined
  const draw = (keys: boolean) => {
    const style = { ...context.style(), width: context.stdout.columns || 80 }
    const screen = <Screen state={state} style={style} rows={context.stdout.rows || 24} keys={keys} />
    const tree = <Keys active={keys && canRead} leave={() => left.abort()} screen={screen} />
    if (instance) return instance.rerender(tree)
    instance = render(tree, { stdout: keptScrollback(process.stdout), exitOnCtrlC: false, patchConsole: false })
    stopped = whenResized(process.stdout, () => draw(true))
  }
  try {
    while (!signal.aborted) {
      state = await lookOnce(context, query, state, signal)
      draw(true)
      await context.clock.sleep(everyMs, signal)
    }
  } catch (error) {
    if (!signal.aborted) throw error
  } finally {
    stopped?.()
    if (instance) draw(false)
    instance?.unmount()
    await instance?.waitUntilExit()
  }
  return state.answer
}

/** A daemon that is away for a moment leaves the last answer standing, with the reason below it. */
async function lookOnce({ api, stdout }: Context, query: TopQuery, before: TopState, signal: AbortSignal): Promise<TopState> {
  const limit = query.limit ?? fitting(stdout.rows || 24)
  try {
    return { answer: await api.limits.rateLimits({ query: { ...query, limit: Math.min(limit, 200) } }, { signal }), trouble: undefined }
  } catch (error) {
    if (signal.aborted || !isProblem(error) || !error.retryable) throw error
    return { answer: before.answer, trouble: `${error.message}; trying again` }
  }
}
