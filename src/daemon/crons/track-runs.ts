/** Runs that began in this process, by their time or by hand: the daemon waits for them before it closes the database. */
export type RunTracker = Readonly<{
  /** Tracks a run until its end; a failure to store the end is only logged. */
  watch(run: Promise<void>): void
  settled(): Promise<void>
}>

export function trackRuns(onFailure: (error: unknown) => void): RunTracker {
  const running = new Set<Promise<void>>()
  return {
    watch: (run) => {
      const watched = run.catch(onFailure).finally(() => running.delete(watched))
      running.add(watched)
    },
    settled: async () => {
      await Promise.all(running)
    },
  }
}
