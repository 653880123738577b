import { type Instance, render } from 'ink'
import { isProblem } from '../../../core/kit/index.ts'
import type { RateLimits } from '../../../core/limits/index.ts'
import { Keys, keptScrollback, whenResized } from '../../board/index.ts'
import type { Context } from '../../kit/index.ts'
import type { TopQuery } from '../top.ts'
import { fitting, Screen, type TopState } from './screen.tsx'

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
