import { Box, Text } from 'ink'
import { isProblem } from '../../core/kit/index.ts'
import type { RateLimits } from '../../core/limits/index.ts'
import { openLiveScreen } from '../board/index.ts'
import { type Context, padStart, type Style, shorten } from '../kit/index.ts'
import { limitsView, type TopQuery } from './limits.view.ts'

/** The latest response, and the error of the last request if it failed. */
export type TopState = Readonly<{ limits: RateLimits | undefined; error: string | undefined }>

type ScreenProps = Readonly<{ state: TopState; style: Style; rows: number; keys: boolean }>

/** Title, error, key help, empty lines, and the row of the cursor. */
const frameRows = 7

/** The number of tenants that fit the terminal. */
const maxTenants = (rows: number): number => Math.max(1, rows - frameRows - 1)

/** The whole board; never more lines than the terminal has rows. */
export function Screen({ state: { limits, error }, style, rows, keys }: ScreenProps) {
  const { paint, width, now } = style
  const scope = limits && (limits.store === 'redis' ? 'all daemons' : 'this daemon')
  const right = `${scope ? `${scope}   ` : ''}${now.toISOString().slice(11, 19)} UTC`
  const title = 'Requests of the last minute'
  return (
    <Box flexDirection="column">
      <Text wrap="truncate">{`${paint.bold(title)}${paint.dim(padStart(right, width - title.length))}`}</Text>
      <Text> </Text>
      {limits && <Text wrap="truncate">{tableOf(limits, style, rows)}</Text>}
      {error && <Text wrap="truncate">{`\n${paint.yellow(shorten(error, width))}`}</Text>}
      {keys && <Text>{`\n${paint.dim('q: quit')}`}</Text>}
    </Box>
  )
}

const tableOf = (limits: RateLimits, style: Style, rows: number): string =>
  limitsView({ ...limits, tenants: limits.tenants.slice(0, maxTenants(rows)), nextCursor: null }, style)

/** Refreshes the board until the person quits; the last screen stays. Returns the last response. */
export async function showTop(context: Context, query: TopQuery, everyMs: number): Promise<RateLimits | undefined> {
  let state: TopState | undefined
  const screen = openLiveScreen(context.signal, (keys) => {
    if (!state) return undefined
    const style = { ...context.style(), width: context.stdout.columns || 80 }
    return <Screen state={state} style={style} rows={context.stdout.rows || 24} keys={keys} />
  })
  const { signal } = screen
  try {
    while (!signal.aborted) {
      state = await refresh(context, query, { before: state, signal })
      screen.draw()
      await context.clock.sleep(everyMs, signal)
    }
  } catch (error) {
    if (!signal.aborted) throw error
  } finally {
    await screen.close()
  }
  return state?.limits
}

type Refresh = Readonly<{ before: TopState | undefined; signal: AbortSignal }>

/** A retryable error keeps the last response on the board, with the error below it. */
async function refresh({ api, stdout }: Context, query: TopQuery, { before, signal }: Refresh): Promise<TopState> {
  const limit = query.limit ?? maxTenants(stdout.rows || 24)
  try {
    return { limits: await api.limits.rateLimits({ query: { ...query, limit: Math.min(limit, 200) } }, { signal }), error: undefined }
  } catch (error) {
    if (signal.aborted || !isProblem(error) || !error.retryable) throw error
    return { limits: before?.limits, error: `${error.message}; retrying` }
  }
}
