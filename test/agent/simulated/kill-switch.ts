/** Simulates a killed process: no call returns. */
export class Killed extends Error {}

/** Counts the calls of everything wrapped with it and dies at one of them; from then on no call goes through, as after `kill -9`. */
export function killSwitch(dieAtCall = Number.POSITIVE_INFINITY) {
  let calls = 0
  const hit = () => {
    calls += 1
    if (calls >= dieAtCall) throw new Killed(`killed at call ${calls}`)
  }
  return {
    calls: () => calls,
    hit,
    /** The call that it dies at happens or not, by `after`: both are possible for a real kill. */
    wrap: <Port extends object>(port: Port, after = false): Port =>
      new Proxy(port, {
        get: (target, name) => {
          const member = Reflect.get(target, name) as unknown
          if (typeof member !== 'function') return member
          return async (...args: unknown[]) => {
            if (!after || calls >= dieAtCall) hit()
            const result = await (member as (...args: unknown[]) => unknown)(...args)
            if (after) hit()
            return result
          }
        },
      }),
  }
}
