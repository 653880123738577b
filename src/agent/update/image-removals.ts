import type { ContainerEngine } from '../ports/index.ts'

/**
 * Whoever has found an image here counts on it, and says so (a journal, a compose file, a pin) before or after: nobody looks while one goes.
 * One for all of an agent.
 */
export type ImageRemovals = Readonly<{
  /** Does what looks once more whether an image is needed, and removes it: one after the other, and with nobody else looking. */
  alone<Value>(work: () => Promise<Value>): Promise<Value>
  /** The same engine, which says whether an image is here, and brings one, once none is being removed. */
  waitedFor(engine: ContainerEngine): ContainerEngine
}>

export function imageRemovals(): ImageRemovals {
  let last: Promise<unknown> = Promise.resolve()
  return {
    alone: (work) => {
      const done = last.then(work)
      last = done.catch(() => undefined)
      return done
    },
    waitedFor: (engine) => ({
      ...engine,
      localDigest: async (image) => {
        await last
        return engine.localDigest(image)
      },
      // One without a digest is brought unseen: layers that are about to go would count as here.
      pull: async (image, options) => {
        await last
        return engine.pull(image, options)
      },
    }),
  }
}
