/**
 * Notifies the engine and the event streams of this process after a commit. It carries no data: listeners read the database, and poll it
 * for changes by other replicas.
 */
export type RolloutBus = Readonly<{
  changed(rolloutId: string): void
  /** Listens to one rollout, or to all of them. Returns how to end that. */
  listen(notify: () => void, rolloutId?: string): () => void
}>

export function makeRolloutBus(): RolloutBus {
  const listeners = new Map<() => void, string | undefined>()
  return {
    changed: (rolloutId) => {
      for (const [notify, wanted] of listeners) if (wanted === undefined || wanted === rolloutId) notify()
    },
    listen: (notify, rolloutId) => {
      listeners.set(notify, rolloutId)
      return () => void listeners.delete(notify)
    },
  }
}
