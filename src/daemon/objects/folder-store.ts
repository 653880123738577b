import { constants } from 'node:fs'
import { access, mkdir, open, rm, stat } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { syncFolder, writeFileAtomic } from '../../node/index.ts'
import { checkedKey, lostKey, type PlainStore, type Stretch, storeFailure, summed } from './object-store.ts'

/** Objects as files of a folder that is this user's alone. An unfinished one is beside its place, so that it is found when the key is removed. */
export const folderStore = (root: string): PlainStore => ({
  name: root,
  fix: `mount its disk, or restore the folder from a backup; if they are lost for good, create the file ${join(root, lostKey)}`,
  trustMs: 0, // a disk can go away at any time, and to list a folder costs nothing
  has: (key) => isThere(pathOf(root, key)),
  remember: async () => undefined, // folders stay
  remembers: (key) => isThere(dirname(pathOf(root, key))),
  async put(key, content) {
    const path = pathOf(root, key)
    const { content: passed, kept, reason } = summed(content)
    try {
      await makeFolder(dirname(path))
      await rm(unfinished(path), { force: true })
      await writeFileAtomic(path, passed, { temporary: unfinished(path) })
    } catch (error) {
      throw reason(error)
    }
    return kept()
  },
  async get(key, stretch) {
    try {
      return await read(pathOf(root, key), stretch)
    } catch (error) {
      throw storeFailure(error)
    }
  },
  async remove(key) {
    const path = pathOf(root, key)
    try {
      await rm(path, { force: true })
      await rm(unfinished(path), { force: true })
    } catch (error) {
      throw storeFailure(error)
    }
  },
  async removeBelow(folder) {
    const path = pathOf(root, folder)
    try {
      await rm(path, { recursive: true, force: true })
    } catch (error) {
      throw storeFailure(error)
    }
  },
  async look() {
    try {
      await makeFolder(root)
      await access(root, constants.W_OK | constants.X_OK)
    } catch (error) {
      throw storeFailure(error)
    }
  },
})

const isThere = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    (error) => {
      if (isMissing(error)) return false
      throw error
    },
  )

const isMissing = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === 'ENOENT'

const pathOf = (root: string, key: string) => join(root, ...checkedKey(key).split('/'))
const unfinished = (path: string) => `${path}.part`

/** A folder just made survives a power cut only once the one above it is written. */
async function makeFolder(folder: string): Promise<void> {
  const first = await mkdir(folder, { recursive: true, mode: 0o700 })
  if (first === undefined) return
  const levels = relative(dirname(first), folder).split('/').length
  let above = folder
  for (let level = 0; level < levels; level += 1) {
    above = dirname(above)
    await syncFolder(above)
  }
}

async function read(path: string, stretch: Stretch | undefined): Promise<AsyncIterable<Uint8Array> | undefined> {
  try {
    const file = await open(path, constants.O_RDONLY)
    return file.createReadStream(stretch ? { start: stretch.from, end: stretch.to } : {})
  } catch (error) {
    if (isMissing(error)) return undefined
    throw error
  }
}
