import { mkdir, readdir, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { syncFolder, writeFileAtomic } from '../../node/index.ts'

/** Small named texts on disk. `write` replaces a text atomically and is durable when it resolves. */
export type FileStore = Readonly<{
  names(): Promise<readonly string[]>
  read(name: string): Promise<string>
  write(name: string, text: string): Promise<void>
  remove(name: string): Promise<void>
  /** Moves an unreadable text out of the way for a person, and returns its new place. */
  setAside(name: string): Promise<string>
  /** Names of texts that were set aside. */
  aside(): Promise<readonly string[]>
}>

/** Where a folder's damaged files are moved: beside it. */
export const damagedFolder = (folder: string): string => `${folder}-damaged`

/** Files of a folder. Names that begin with a dot are unfinished writes and are not listed. */
export function folderStore(folder: string): FileStore {
  const beside = damagedFolder(folder)
  return {
    names: async () => {
      await mkdir(folder, { recursive: true, mode: 0o700 })
      return (await readdir(folder)).filter((name) => !name.startsWith('.')).sort()
    },
    read: (name) => readFile(join(folder, name), 'utf8'),
    write: (name, text) => writeFileAtomic(join(folder, name), text),
    remove: async (name) => {
      await rm(join(folder, name), { force: true })
      await syncFolder(folder)
    },
    setAside: async (name) => {
      await mkdir(beside, { recursive: true, mode: 0o700 })
      await rename(join(folder, name), join(beside, name))
      await syncFolder(beside)
      await syncFolder(folder)
      return join(beside, name)
    },
    aside: () => readdir(beside).catch(() => []),
  }
}

/** For simulated hosts, whose agents end with the process. */
export function memoryStore(): FileStore {
  const texts = new Map<string, string>()
  const damaged = new Map<string, string>()
  return {
    names: async () => [...texts.keys()].sort(),
    read: async (name) => texts.get(name) ?? '',
    write: async (name, text) => {
      texts.set(name, text)
    },
    remove: async (name) => {
      texts.delete(name)
    },
    setAside: async (name) => {
      damaged.set(name, texts.get(name) ?? '')
      texts.delete(name)
      return name
    },
    aside: async () => [...damaged.keys()],
  }
}
