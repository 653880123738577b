import { chown, mkdir, readdir, readFile, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join, relative } from 'node:path'
import { syncFolder, writeFileAtomic } from '../../node/index.ts'
import type { Project } from '../ports/index.ts'

// The files of a box beside its compose file: config, keys, secrets, the edge's rules. They are small; each is replaced whole.

/** Regular files below a folder, as paths from it; none where there is no folder. */
async function filesBelow(folder: string): Promise<string[]> {
  const facts = await stat(folder).catch(() => undefined)
  if (!facts) return []
  if (facts.isFile()) return ['']
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
    .sort()
}

/** The compose file and its backups belong to the switch, the fence to whoever raised it, and a hidden file is somebody's work in hand. */
const isOwn = ({ composeFile }: Project, path: string): boolean =>
  !(path.startsWith(basename(composeFile)) || path.startsWith('edge/fence/') || path.startsWith('.compose.'))

/** Copies the files of a box into a folder, once: a copy that is there is whole, and is what was there first. */
export async function keepFiles(project: Project, into: string): Promise<void> {
  if (await stat(into).catch(() => undefined)) return
  const half = `${into}.half`
  await rm(half, { recursive: true, force: true })
  await mkdir(half, { recursive: true, mode: 0o700 })
  for (const path of await filesBelow(project.folder)) if (isOwn(project, path)) await putFile(project.folder, half, path)
  await rename(half, into)
  await syncFolder(dirname(into))
}

/** Brings the files of such a folder into their places, with owners and modes. Files that it does not have stay. */
export async function putFiles(project: Project, from: string): Promise<void> {
  for (const path of await filesBelow(from)) if (isOwn(project, path)) await putFile(from, project.folder, path)
}

type Removing = Readonly<{ listed: string; unless: string; below?: string }>

/**
 * Removes of a box what is in one folder of such files and not in another, below a path if one is given. Nothing where the other is not
 * there at all: then nobody knows what belongs to the box. Folders stay, they are containers' mounts.
 */
export async function removeFiles(project: Project, { listed, unless, below = '' }: Removing): Promise<void> {
  if (!(await stat(join(unless, below)).catch(() => undefined))) return
  const staying = new Set(await filesBelow(join(unless, below)))
  for (const name of await filesBelow(join(listed, below))) {
    const path = join(below, name)
    if (staying.has(name) || !isOwn(project, path)) continue
    await rm(join(project.folder, path), { force: true })
    await syncFolder(dirname(join(project.folder, path)))
  }
}

async function putFile(from: string, into: string, path: string): Promise<void> {
  await likeFolders(from, into, dirname(path))
  const { mode, uid, gid } = await stat(join(from, path))
  const content = await readFile(join(from, path))
  const target = join(into, path)
  if (await isAlready(target, content, { mode, uid, gid })) return
  await writeFileAtomic(target, content, { mode: mode & 0o777 })
  await own(target, uid, gid)
}

type Facts = Readonly<{ mode: number; uid: number; gid: number }>

async function isAlready(path: string, content: Buffer, wanted: Facts): Promise<boolean> {
  const facts = await stat(path).catch(() => undefined)
  if (!facts || facts.mode !== wanted.mode || facts.uid !== wanted.uid || facts.gid !== wanted.gid) return false
  return (await readFile(path)).equals(content)
}

/** Folders that are missing are made as they were; those that are there are containers' mounts and stay. */
async function likeFolders(from: string, into: string, path: string): Promise<void> {
  if (path === '.') return
  await likeFolders(from, into, dirname(path))
  const target = join(into, path)
  if (await stat(target).catch(() => undefined)) return
  const { mode, uid, gid } = await stat(join(from, path))
  await mkdir(target, { mode: mode & 0o777 })
  await own(target, uid, gid)
}

const own = async (path: string, uid: number, gid: number): Promise<void> => {
  if (process.getuid?.() === 0) await chown(path, uid, gid)
}

/** Whether two folders, or two files, hold the same. */
export async function sameFiles(one: string, other: string): Promise<boolean> {
  const [paths, others] = [await filesBelow(one), await filesBelow(other)]
  if (paths.join('\n') !== others.join('\n')) return false
  for (const path of paths) if (!(await readFile(join(one, path))).equals(await readFile(join(other, path)))) return false
  return true
}
