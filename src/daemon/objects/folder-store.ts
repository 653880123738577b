import { constants } from 'node:fs'
import { access, mkdir, open, rm } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { syncFolder, writeFileAtomic } from '../../node/index.ts'
import { checkedKey, type ObjectStore, type Stretch, storeFailure, summed } from './object-store.ts'

/** Objects as files of a folder that is this user's alone. An unfinished one is beside its place, so that it is found when the key is removed. */
export const folderStore = (root: string): ObjectStore => ({
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
  get: (key, stretch) => read(pathOf(root, key), stretch),
  async remove(key) {
    const path = pathOf(root, key)
    try {
      await rm(path, { force: true })
      await rm(unfinished(path), { force: true })
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
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw storeFailure(error)
  }
}
