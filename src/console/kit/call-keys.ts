import { isProblem, type ProblemCode } from '../../core/kit/index.ts'

/** For this long the same call is a repetition of the one whose answer was lost; later it is meant to happen again. */
const repeatableMs = 5 * 60_000

/** With these it is unknown whether the daemon did what was asked. */
const unknown: readonly ProblemCode[] = ['UNREACHABLE', 'UNAVAILABLE', 'INTERNAL']
const isAnswered = (error: unknown): boolean => isProblem(error) && !unknown.includes(error.code)

type Deps = Readonly<{ newKey(): string; nowMs(): number }>

/** Sends a call with a key. A call whose answer was lost has the same key when it is sent again, so that the daemon does it once. */
export function callKeys({ newKey, nowMs }: Deps) {
  const open = new Map<string, Readonly<{ key: string; untilMs: number }>>()
  return async <Result>(call: string, send: (key: string) => Promise<Result>): Promise<Result> => {
    for (const [other, { untilMs }] of open) if (untilMs <= nowMs()) open.delete(other)
    const one = open.get(call) ?? { key: newKey(), untilMs: nowMs() + repeatableMs }
    open.set(call, one)
    try {
      const result = await send(one.key)
      open.delete(call)
      return result
    } catch (error) {
      if (isAnswered(error)) open.delete(call)
      throw error
    }
  }
}
