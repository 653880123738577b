/**
 * One connection for all, given out in the order it was asked for. Whoever gives it back wakes the next one alone: where all that wait are woken
 * to see who is first, a thousand agents that answer at once cost a thousand looks per statement.
 */
export function makeTurns(): Readonly<{ take(): Promise<void>; pass(): void }> {
  const waiting: (() => void)[] = []
  let isTaken = false
  return {
    take: async () => {
      if (isTaken) await new Promise<void>((begin) => waiting.push(begin))
      isTaken = true
    },
    pass: () => {
      const next = waiting.shift()
      if (next) next()
      else isTaken = false
    },
  }
}
