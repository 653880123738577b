import type { Readable } from 'node:stream'

/** Who is asked, each time a program has been silent for `everyMs` more, whether to end it. A question that fails is answered no. */
export type SilenceRule = Readonly<{ everyMs: number; isStuck(silentMs: number): Promise<boolean> }>

/** Calls `stuck` once when the rule says so. The function it answers ends the watch. */
export function watchSilence(outputs: readonly Readable[], { everyMs, isStuck }: SilenceRule, stuck: () => void): () => void {
  let silentMs = 0
  let asked = false
  // The stretch in which something was heard does not count.
  const heard = () => {
    silentMs = -everyMs
  }
  for (const output of outputs) output.on('data', heard)
  const timer = setInterval(async () => {
    silentMs += everyMs
    if (asked || silentMs <= 0) return
    asked = true
    const ends = await isStuck(silentMs).catch(() => false)
    asked = false
    if (!ends || silentMs <= 0) return
    end()
    stuck()
  }, everyMs)
  const end = () => {
    clearInterval(timer)
    for (const output of outputs) output.off('data', heard)
  }
  return end
}
