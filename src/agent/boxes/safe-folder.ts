import type { Stats } from 'node:fs'
import { lstat, realpath } from 'node:fs/promises'
import { dirname } from 'node:path'
import { problem } from '../../core/kit/index.ts'
import type { Project } from '../ports/index.ts'

/**
 * The agent runs these files as root, so other users must not be able to change or replace them: the folder, its parents, the compose files
 * and .env. Throws FOLDER_UNSAFE.
 */
export async function assertSafeFolder(project: Project, agentUid = process.getuid?.() ?? 0): Promise<void> {
  const { folder } = project
  if ((await realpath(folder).catch(() => undefined)) !== folder)
    throw unsafe(folder, 'does not exist or is reached through a symbolic link')
  for (const above of withParents(folder)) assertUnshared({ path: above, facts: await lstat(above), isOurs: above === folder }, agentUid)
  for (const file of [project.composeFile, project.envFile, project.extraFile]) {
    if (file === undefined) continue
    const facts = await lstat(file).catch(() => undefined)
    if (!facts) throw unsafe(file, 'does not exist')
    if (!facts.isFile()) throw unsafe(file, 'is a symbolic link or not a regular file. fix: put the file itself there')
    if (facts.nlink > 1) throw unsafe(file, 'has a hard link, through which others may change it. fix: copy the file and replace it')
    if (dirname(file) !== folder) throw unsafe(file, `is outside the project folder ${folder}`)
    assertUnshared({ path: file, facts, isOurs: true }, agentUid)
  }
}

const unsafe = (path: string, reason: string) => problem('FOLDER_UNSAFE', `${path} ${reason}`)

const withParents = (path: string): string[] => (dirname(path) === path ? [path] : [...withParents(dirname(path)), path])

type Entry = Readonly<{ path: string; facts: Stats; isOurs: boolean }>

function assertUnshared({ path, facts, isOurs }: Entry, agentUid: number): void {
  if (facts.uid !== 0 && facts.uid !== agentUid) throw unsafe(path, `belongs to user ${facts.uid}. fix: chown root ${path}`)
  // With the sticky bit (/tmp) others can add entries but not replace ours.
  const shared = !isOurs && (facts.mode & 0o1000) !== 0
  if (!shared && (facts.mode & 0o002) !== 0) throw unsafe(path, `is writable by everyone. fix: chmod o-w ${path}`)
  if (!shared && (facts.mode & 0o020) !== 0 && facts.gid !== 0)
    throw unsafe(path, `is writable by group ${facts.gid}. fix: chmod g-w ${path}`)
}
