import type { FileStore } from '../../../src/agent/journal/index.ts'

export type When = 'before' | 'after'

/** A life that ends at a touch of the world, before its effect or after it; nothing it does afterwards has one. */
export function mortal(dieAt: (touch: number, name: string) => boolean, when: When) {
  const abort = new AbortController()
  let touches = 0
  const touch = async (name: string, act: () => Promise<unknown>): Promise<unknown> => {
    if (abort.signal.aborted) throw new Error('dead')
    const dies = dieAt(++touches, name)
    const die = () => {
      abort.abort(new Error('killed'))
      throw new Error('killed')
    }
    if (dies && when === 'before') die()
    const result = await act().catch((error) => {
      if (!dies) throw error
    })
    if (dies) die()
    return result
  }
  const whileAlive = <Result>(act: () => Promise<Result>): Promise<Result> => {
    if (abort.signal.aborted) throw new Error('dead')
    return act()
  }
  return { touch, whileAlive, signal: abort.signal, died: () => abort.signal.aborted }
}
export type Mortal = ReturnType<typeof mortal>

export const storeWhileAlive = (fileStore: FileStore, { whileAlive }: Mortal): FileStore => ({
  ...fileStore,
  write: (name, text) => whileAlive(() => fileStore.write(name, text)),
})

const looks = new Set([
  'chatAnswers',
  'chatMark',
  'containers',
  'content',
  'databaseBytes',
  'databaseFacts',
  'databaseReady',
  'facts',
  'find',
  'imageLibc',
  'localDigest',
  'logs',
  'probe',
  'projects',
  'resolveCompose',
  'serverVersions',
  'streamPositions',
  'target',
  'volumePath',
  'volumesFolder',
])
/** Whether a call of the ports changes anything. Whoever is killed while one only looks leaves what a kill at the change before leaves. */
export const isChange = (name: string): boolean => !looks.has(name)

/** A life that ends at its `place`-th change of the world. */
export function mortalAtChange(place: number, when: When): Mortal {
  let changes = 0
  return mortal((_, name) => isChange(name) && ++changes === place, when)
}
