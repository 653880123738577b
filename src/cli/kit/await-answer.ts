import { type EndpointShape, isSchema } from '../../core/contract/index.ts'
import { type Clock, problem } from '../../core/kit/index.ts'

const noticeAfterMs = 10_000
const maxWaitMs = 60_000

export type AnswerDeps = Readonly<{ clock: Clock; baseUrl: string; notify: (line: string) => void }>

/** Reads and logins answer at once. A change may take long, and stopping to wait would hide its result; streams and files last. */
const isShort = ({ method, returns, auth, takesLong }: EndpointShape): boolean =>
  takesLong !== true && isSchema(returns) && (method === 'GET' || auth.kind === 'none')

/** Calls the daemon: reports a long wait, and ends a short call without an answer. Throws UNREACHABLE. */
export async function awaitAnswer<Result>(
  { clock, baseUrl, notify }: AnswerDeps,
  endpoint: EndpointShape,
  call: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const [answered, timedOut] = [new AbortController(), new AbortController()]
  const watch = async () => {
    await clock.sleep(noticeAfterMs, answered.signal)
    if (answered.signal.aborted) return
    notify(`waiting for ${baseUrl}…`)
    if (!isShort(endpoint)) return
    await clock.sleep(maxWaitMs - noticeAfterMs, answered.signal)
    if (!answered.signal.aborted) timedOut.abort()
  }
  void watch()
  try {
    return await call(timedOut.signal)
  } catch (error) {
    if (!timedOut.signal.aborted) throw error
    const seconds = maxWaitMs / 1000
    throw problem('UNREACHABLE', `${baseUrl} accepted the connection and did not answer within ${seconds} seconds`, { cause: error })
  } finally {
    answered.abort()
  }
}
