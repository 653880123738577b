/** Who waits here for logins of the same account to end: so many that it is of use, and no more. */
export type WaitingLogins = Readonly<{ wait<Result>(subject: string, work: () => Promise<Result>): Promise<Result> | undefined }>

/** Far more than honest clients of one user are: where it begins to refuse must not tell how fast a chat server looks at passwords. */
const mostOfOne = 100
const mostInAll = 500

/** Undefined when there is no place: each that waits asks the database again and again. */
export function waitingLogins(): WaitingLogins {
  const counts = new Map<string, number>()
  let inAll = 0
  const leave = (subject: string) => {
    const left = (counts.get(subject) ?? 1) - 1
    inAll -= 1
    if (left === 0) counts.delete(subject)
    else counts.set(subject, left)
  }
  return {
    wait: (subject, work) => {
      const count = counts.get(subject) ?? 0
      if (count >= mostOfOne || inAll >= mostInAll) return undefined
      counts.set(subject, count + 1)
      inAll += 1
      return work().finally(() => leave(subject))
    },
  }
}
