import { lchown, lstat, mkdir, readdir, readFile, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join, relative } from 'node:path'
import { extraFileName, maxKeptFiles } from '../../core/boxes/index.ts'
import { problem } from '../../core/kit/index.ts'
import { syncFolder, writeFileAtomic } from '../../node/index.ts'
import { assertNoLinks } from '../boxes/index.ts'
import { composeBackup, formerCompose, replaceCompose, restoreCompose, resultOf } from '../change/index.ts'
import type { Project } from '../ports/index.ts'
import { formerFiles, type RestoreRun, restoredText, snapshotFiles } from './restore-run.ts'

// The switch: the snapshot's files are put in place while nothing runs, then one rename of the compose file decides which volumes are served.
// The compose file keeps this host's ports and names; only images and volumes change.

const edgeRules = 'edge/conf.d'

type Switched = Readonly<{ edge: boolean; secrets: boolean; keptFiles: string[] }>

export async function switchToRestored(run: RestoreRun): Promise<Switched> {
  const { project } = run.box
  await composeBackup(run, resultOf(run, 'fetch').composeSha256)
  await copyFormerFiles(project, formerFiles(run))
  // A path that the snapshot does not have stays as it is.
  const changed = async (path: string) =>
    (await filesBelow(join(snapshotFiles(run), path))).length > 0 &&
    !(await sameFiles(join(formerFiles(run), path), join(snapshotFiles(run), path)))
  await putFiles(project, snapshotFiles(run))
  // The edge reads every file there: a rule that is not in the snapshot could bypass its fence.
  await removeFiles(project, { listed: project.folder, unless: snapshotFiles(run), below: edgeRules })
  await replaceCompose(run, await restoredText(run))
  return { edge: await changed(edgeRules), secrets: await changed('secrets/box.json'), keptFiles: await keptFiles(run) }
}

/** Files of the box that the snapshot does not have, which stay; at most `maxKeptFiles`. */
async function keptFiles(run: RestoreRun): Promise<string[]> {
  const { project } = run.box
  const restored = new Set(await filesBelow(snapshotFiles(run)))
  const kept = (await filesBelow(project.folder)).filter((path) => isExchanged(project, path) && !restored.has(path))
  return kept.slice(0, maxKeptFiles)
}

/**
 * Restores all files byte for byte and removes those that only the snapshot had. Does nothing if nothing was exchanged. Throws RESTORE_FAILED
 * and changes nothing if files were exchanged and the former ones are gone: the box would run a mixture.
 */
export async function switchBack(run: RestoreRun): Promise<void> {
  const hasFormerFiles = (await stat(formerFiles(run)).catch(() => undefined)) !== undefined
  if (!hasFormerFiles && run.evidence().switch) throw formerFilesGone(run)
  const { composeSha256 } = resultOf(run, 'fetch')
  if (hasFormerFiles) await formerCompose(run, composeSha256)
  await removeFiles(run.box.project, { listed: snapshotFiles(run), unless: formerFiles(run) })
  await putFiles(run.box.project, formerFiles(run))
  await restoreCompose(run, composeSha256)
}

const formerFilesGone = (run: RestoreRun) =>
  problem(
    'RESTORE_FAILED',
    `The former files of ${run.box.slug} in ${formerFiles(run)} are gone, so they cannot be restored. ` +
      `fix: tenantry snapshots restore ${run.box.slug} --snapshot <id> --reason <why>`,
  )

/** Regular files below a folder, as relative paths; none if there is no folder. Follows no link. */
async function filesBelow(folder: string): Promise<string[]> {
  const facts = await lstat(folder).catch(() => undefined)
  if (!facts) return []
  if (facts.isFile()) return ['']
  if (!facts.isDirectory()) return []
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
    .sort()
}

/** Excludes the compose files and their backups, the fence, and candidate files. The services of the extra file are those of now, as the ports are. */
const isExchanged = ({ composeFile }: Project, path: string): boolean =>
  path !== extraFileName && !(path.startsWith(basename(composeFile)) || path.startsWith('edge/fence/') || path.startsWith('.compose.'))

/** Copies the files of a box into a folder, once: a copy that exists is complete and of the former box. */
async function copyFormerFiles(project: Project, into: string): Promise<void> {
  if (await stat(into).catch(() => undefined)) return
  const half = `${into}.half`
  await rm(half, { recursive: true, force: true })
  await mkdir(half, { recursive: true, mode: 0o700 })
  for (const path of await filesBelow(project.folder)) if (isExchanged(project, path)) await putFile(project.folder, half, path)
  await rename(half, into)
  await syncFolder(dirname(into))
}

/** Puts the files of a folder in place, with owners and modes. Other files stay. */
async function putFiles(project: Project, from: string): Promise<void> {
  for (const path of await filesBelow(from)) if (isExchanged(project, path)) await putFile(from, project.folder, path)
}

type Removing = Readonly<{ listed: string; unless: string; below?: string }>

/**
 * Removes files of a box that are in `listed` and not in `unless`, below a path if one is given. Removes nothing if `unless` does not exist.
 * Folders stay, because containers mount them.
 */
async function removeFiles(project: Project, { listed, unless, below = '' }: Removing): Promise<void> {
  if (!(await stat(join(unless, below)).catch(() => undefined))) return
  const staying = new Set(await filesBelow(join(unless, below)))
  for (const name of await filesBelow(join(listed, below))) {
    const path = join(below, name)
    if (staying.has(name) || !isExchanged(project, path) || (await isBehindLink(project.folder, path))) continue
    await rm(join(project.folder, path), { force: true })
    await syncFolder(dirname(join(project.folder, path)))
  }
}

/** A container that may write to a folder of the box can put a link to any folder of the host there. */
const isBehindLink = (folder: string, path: string): Promise<boolean> =>
  dirname(path) === '.'
    ? Promise.resolve(false)
    : assertNoLinks(folder, dirname(path)).then(
        () => false,
        () => true,
      )

/** Throws FOLDER_UNSAFE for a target behind a link. A link in its own place is replaced. */
async function putFile(from: string, into: string, path: string): Promise<void> {
  if (dirname(path) !== '.') await assertNoLinks(into, dirname(path))
  await makeFoldersLike(from, into, dirname(path))
  const { mode, uid, gid } = await stat(join(from, path))
  const content = await readFile(join(from, path))
  const target = join(into, path)
  if (await isEqual(target, content, { mode, uid, gid })) return
  await writeFileAtomic(target, content, { mode: mode & 0o777 })
  await own(target, uid, gid)
}

type Facts = Readonly<{ mode: number; uid: number; gid: number }>

async function isEqual(path: string, content: Buffer, { mode, uid, gid }: Facts): Promise<boolean> {
  const facts = await lstat(path).catch(() => undefined)
  if (!facts?.isFile() || facts.mode !== mode || facts.uid !== uid || facts.gid !== gid) return false
  return (await readFile(path)).equals(content)
}

/** Makes missing folders with the owner and mode of their source. Existing folders stay, because containers mount them. */
async function makeFoldersLike(from: string, into: string, path: string): Promise<void> {
  if (path === '.') return
  await makeFoldersLike(from, into, dirname(path))
  const target = join(into, path)
  if (await stat(target).catch(() => undefined)) return
  const { mode, uid, gid } = await stat(join(from, path))
  await mkdir(target, { mode: mode & 0o777 })
  await own(target, uid, gid)
}

const own = async (path: string, uid: number, gid: number): Promise<void> => {
  if (process.getuid?.() === 0) await lchown(path, uid, gid)
}

/** True if two folders or two files have the same content. */
async function sameFiles(one: string, other: string): Promise<boolean> {
  const [paths, others] = [await filesBelow(one), await filesBelow(other)]
  if (paths.join('\n') !== others.join('\n')) return false
  for (const path of paths) if (!(await readFile(join(one, path))).equals(await readFile(join(other, path)))) return false
  return true
}
