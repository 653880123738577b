import type { Stats } from 'node:fs'
import { lstat, realpath } from 'node:fs/promises'
import { dirname } from 'node:path'
import { problem } from '../../core/kit/index.ts'
import type { Project } from '../ports/index.ts'

/**
 * The agent runs what these files say, as root. So nobody else may be able to change them, or put others in their place:
 * the folder, each folder above it, the compose file and the .env. Throws FOLDER_UNSAFE with the path and what to do.
 */
export async function needSafeFolder(project: Project, agentUid = process.getuid?.() ?? 0): Promise<void> {
  const { folder } = project
  if ((await realpath(folder).catch(() => undefined)) !== folder)
    throw unsafe(folder, 'does not exist or is reached through a symbolic link')
  for (const above of withParents(folder)) refuse(above, await lstat(above), agentUid, above === folder)
  for (const file of [project.composeFile, project.envFile]) {
    if (file === undefined) continue
    const facts = await lstat(file).catch(() => undefined)
    if (!facts) throw unsafe(file, 'does not exist')
    if (!facts.isFile()) throw unsafe(file, 'is a symbolic link or no regular file; put the file itself there')
    if (facts.nlink > 1) throw unsafe(file, 'has a second name (a hard link) under which it may be changed')
    if (dirname(file) !== folder) throw unsafe(file, `does not lie in the project folder ${folder}`)
    refuse(file, facts, agentUid, true)
  }
}

const unsafe = (path: string, reason: string) => problem('FOLDER_UNSAFE', `${path} ${reason}`)

const withParents = (path: string): string[] => (dirname(path) === path ? [path] : [...withParents(dirname(path)), path])

function refuse(path: string, facts: Stats, agentUid: number, ours: boolean): void {
  if (facts.uid !== 0 && facts.uid !== agentUid) throw unsafe(path, `belongs to the user ${facts.uid}; give it to root`)
  // In a folder with the sticky bit (/tmp) others can add names, but not take ours away.
  const shared = !ours && (facts.mode & 0o1000) !== 0
  if (!shared && (facts.mode & 0o002) !== 0) throw unsafe(path, 'can be written by everybody; chmod o-w it')
  if (!shared && (facts.mode & 0o020) !== 0 && facts.gid !== 0) throw unsafe(path, `can be written by the group ${facts.gid}; chmod g-w it`)
}
