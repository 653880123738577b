import { chmod, lchown, mkdir, readFile, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { problem, sha256Hex } from '../../core/kit/index.ts'
import { readIfThere, syncFolder, writeFileAtomic } from '../../node/index.ts'
import { type FileChange, sumOrNull } from './plan-completion.ts'
import { readHostFile } from './survey.ts'

/** One file as the journal remembers it: sums and where its former text lies, never a text. */
export type KeptFile = Readonly<
  Pick<FileChange, 'path' | 'mode' | 'uid' | 'gid'> & { before: string | null; after: string | null; backup: string | null }
>

/** Puts the former text of each file beside it. Done again it finds its own. */
export async function keepFiles(changes: readonly FileChange[], suffix: string): Promise<KeptFile[]> {
  const kept: KeptFile[] = []
  for (const { path, before, after, mode, uid, gid } of changes) {
    const backup = before === null ? null : `${path}.${suffix}`
    if (backup !== null && before !== null && (await readIfThere(backup)) !== before) await writeFileAtomic(backup, before, { mode: 0o600 })
    kept.push({ path, mode, uid, gid, before: sumOrNull(before), after: sumOrNull(after), backup })
  }
  return kept
}

/** Exchanges each file whole or not at all. One that is neither what it was nor what it becomes was changed meanwhile: CONFLICT. */
export async function applyFiles(changes: readonly FileChange[]): Promise<void> {
  for (const change of changes) {
    const now = (await readHostFile(change.path))?.text ?? null
    if (now !== change.before && now !== change.after) throw problem('CONFLICT', `${change.path} was changed meanwhile: look again`)
    await put(change, now, change.after)
  }
}

/** The former files again, each from its own backup. What somebody changed or made meanwhile is neither ours to undo nor anywhere else: it stays. */
export async function putBack(kept: readonly KeptFile[]): Promise<void> {
  for (const file of kept) {
    const now = (await readHostFile(file.path))?.text ?? null
    if (![file.before, file.after].includes(sumOrNull(now))) continue
    await put(file, now, file.backup === null ? null : await former(file, file.backup))
  }
}

async function former({ path, before }: KeptFile, backup: string): Promise<string> {
  const text = await readFile(backup, 'utf8')
  if (sha256Hex(text) === before) return text
  throw problem('INTERNAL', `the backup ${backup} is not what ${path} was: put the file back by hand`)
}

async function put(
  { path, mode, uid, gid }: Pick<FileChange, 'path' | 'mode' | 'uid' | 'gid'>,
  now: string | null,
  text: string | null,
): Promise<void> {
  if (text === null) return now === null ? undefined : removeFile(path)
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  if (now !== text) await writeFileAtomic(path, text, { mode })
  // Also for one that is right already: a kill may have come between the two.
  await chmod(path, mode)
  if (process.getuid?.() === 0) await lchown(path, uid, gid)
}

async function removeFile(path: string): Promise<void> {
  await rm(path, { force: true })
  await syncFolder(dirname(path))
}

/** nginx's workers look for the fence as a user of their own. */
export async function makeFenceFolder(projectFolder: string): Promise<void> {
  const folder = join(projectFolder, 'edge', 'fence')
  await mkdir(folder, { recursive: true, mode: 0o700 })
  await chmod(folder, 0o755)
}
