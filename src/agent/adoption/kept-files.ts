import { chmod, lchown, mkdir, readFile, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { problem, sha256Hex } from '../../core/kit/index.ts'
import { readIfThere, syncFolder, writeFileAtomic } from '../../node/index.ts'
import { type FileChange, sumOrNull } from './plan-completion.ts'
import { readHostFile } from './survey.ts'

/** One file in the journal: checksums and the path of its backup, never its text. */
export type BackedUpFile = Readonly<
  Pick<FileChange, 'path' | 'mode' | 'uid' | 'gid'> & { before: string | null; after: string | null; backup: string | null }
>

/** Writes a backup beside each file. Idempotent. */
export async function backUpFiles(changes: readonly FileChange[], suffix: string): Promise<BackedUpFile[]> {
  const kept: BackedUpFile[] = []
  for (const { path, before, after, mode, uid, gid } of changes) {
    const backup = before === null ? null : `${path}.${suffix}`
    if (backup !== null && before !== null && (await readIfThere(backup)) !== before) await writeFileAtomic(backup, before, { mode: 0o600 })
    kept.push({ path, mode, uid, gid, before: sumOrNull(before), after: sumOrNull(after), backup })
  }
  return kept
}

/** Replaces each file atomically. Throws CONFLICT for a file that was edited in the meantime. */
export async function applyFiles(changes: readonly FileChange[]): Promise<void> {
  for (const change of changes) {
    const now = (await readHostFile(change.path))?.text ?? null
    if (now !== change.before && now !== change.after)
      throw problem('CONFLICT', `${change.path} was edited in the meantime. fix: show the diff again`)
    await put(change, now, change.after)
  }
}

/** Restores each file from its backup. Files edited in the meantime stay, because no other copy of them exists. */
export async function restoreFiles(kept: readonly BackedUpFile[]): Promise<void> {
  for (const file of kept) {
    const now = (await readHostFile(file.path))?.text ?? null
    if (![file.before, file.after].includes(sumOrNull(now))) continue
    await put(file, now, file.backup === null ? null : await former(file, file.backup))
  }
}

async function former({ path, before }: BackedUpFile, backup: string): Promise<string> {
  const text = await readFile(backup, 'utf8')
  if (sha256Hex(text) === before) return text
  throw problem('INTERNAL', `Backup ${backup} does not match the previous ${path}. fix: restore the file manually`)
}

async function put(
  { path, mode, uid, gid }: Pick<FileChange, 'path' | 'mode' | 'uid' | 'gid'>,
  now: string | null,
  text: string | null,
): Promise<void> {
  if (text === null) return now === null ? undefined : removeFile(path)
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  if (now !== text) await writeFileAtomic(path, text, { mode })
  // Also for an up-to-date file: a kill may have happened between the two calls.
  await chmod(path, mode)
  if (process.getuid?.() === 0) await lchown(path, uid, gid)
}

async function removeFile(path: string): Promise<void> {
  await rm(path, { force: true })
  await syncFolder(dirname(path))
}

/** Readable by the nginx workers, which run as another user. */
export async function makeFenceFolder(projectFolder: string): Promise<void> {
  const folder = join(projectFolder, 'edge', 'fence')
  await mkdir(folder, { recursive: true, mode: 0o700 })
  await chmod(folder, 0o755)
}
