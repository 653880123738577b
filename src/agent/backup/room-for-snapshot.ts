import type { ContainerEngine, Repository, StoredSnapshot } from '../ports/index.ts'
import type { DiskSpace, Part } from './disk-space.ts'

/** The folder of a repository that lies on this host. */
export const localFolder = ({ repository }: Repository): string | undefined => /^(?:file:(?:\/\/)?)?(\/.*)$/.exec(repository)?.[1]

/** A dump is at most as large as its database; where the repository is on this host, it lies there a second time. */
export function roomForDump(workFolder: string, repository: Repository, databaseBytes: number): Part[] {
  return [workFolder, localFolder(repository)].flatMap((path) => (path === undefined ? [] : [{ path, bytes: databaseBytes }]))
}

type Deps = Readonly<{ engine: Pick<ContainerEngine, 'volumesFolder'>; disk: Pick<DiskSpace, 'usedBytes'>; workFolder: string }>
type Bringing = Readonly<{
  snapshot: Pick<StoredSnapshot, 'totalBytes' | 'databaseBytes'>
  /** Where its dump and files are fetched to, and whether they are there. */
  folder: string
  fetched: boolean
  /** What the box has now: of a snapshot that does not say how large it is nobody knows better. */
  now: Readonly<{ databaseBytes: number; dataBytes: number }>
}>

/**
 * What a snapshot takes that is brought back beside what is here: its dump where it is fetched to; media, objects and the loaded database
 * where volumes lie. How much of it is dump is only known once that is here: before, as much as it can be, and the less for the rest.
 */
export async function roomForSnapshot({ engine, disk, workFolder }: Deps, { snapshot, folder, fetched, now }: Bringing): Promise<Part[]> {
  const { totalBytes } = snapshot
  const databaseBytes = snapshot.databaseBytes ?? now.databaseBytes
  // What an interrupted try has brought takes no more room.
  const here = await disk.usedBytes(folder).catch(() => 0)
  const dump = fetched ? here : Math.min(totalBytes ?? databaseBytes, databaseBytes)
  const data = totalBytes === null ? now.dataBytes : Math.max(0, totalBytes - dump)
  return [
    { path: workFolder, bytes: Math.max(0, dump - here) },
    { path: (await engine.volumesFolder()) ?? workFolder, bytes: data + databaseBytes },
  ]
}
