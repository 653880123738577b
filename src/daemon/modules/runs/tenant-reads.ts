import { isProblem, type PlatformPrincipal, utf8Text } from '../../../core/kit/index.ts'
import { CallRefused, type RunReads, runLimits, tooManyBytes } from '../../../core/modules/index.ts'
import { findFileOf, newestFiles, readContent } from '../../files/index.ts'
import { authorizeSpace, findSpace, listAllSpaces, spacesOf } from '../../spaces/index.ts'
import { bytesOfDocuments, documentsIn, findDocument } from '../documents.repo.ts'
import type { InstallationRecord } from '../installations.repo.ts'
import type { ModuleRunsDeps } from './deps.ts'

type Deps = Pick<ModuleRunsDeps, 'db' | 'files'>
/** `caller`: spaces and files are those that this user may enter; null: all of the tenant. */
type Reader = Readonly<{ installation: InstallationRecord; caller: PlatformPrincipal | null }>

const maxListed = 1_000
/** Names around the content, as JSON. */
const overheadBytes = 2_000

/** The data that a run may read: documents of its module in its tenant, and spaces and files of the caller. */
export function tenantReads({ db, files }: Deps, { installation, caller }: Reader): RunReads {
  const { tenantId, moduleId, dataGeneration: generation } = installation
  const place = { tenantId, moduleId, generation }
  const assertSpace = async (spaceId: string) => {
    if (!(await mayEnter({ db }, { tenantId, spaceId, caller }))) throw new CallRefused('NOT_FOUND', `there is no space ${spaceId}`)
  }
  return {
    assertSpace,
    document: (key) => findDocument(db, place, key),
    documents: async (range) => {
      const found = await documentsIn(db, place, { ...range, maxBytes: runLimits.callBytes })
      if (found) return found
      throw tooManyBytes()
    },
    bytesOf: (keys) => bytesOfDocuments(db, place, keys),
    spaces: async () => {
      const all = caller
        ? await spacesOf(db, { tenantId, userId: caller.userId })
        : (await listAllSpaces({ db }, { tenantId, limit: maxListed })).spaces
      return all.map(({ id, name, type, visibility }) => ({ id, name, type, visibility }))
    },
    files: async (spaceId) => {
      await assertSpace(spaceId)
      const found = await newestFiles(db, { tenantId, spaceId, limit: maxListed })
      return found.map(({ id, name, bytes, contentType }) => ({ id, spaceId, name, bytes, contentType }))
    },
    readFile: async (fileId) => {
      const file = await findFileOf(db, { tenantId, fileId })
      if (!file || !(await mayEnter({ db }, { tenantId, spaceId: file.spaceId, caller })))
        throw new CallRefused('NOT_FOUND', `there is no file ${fileId}`)
      if (file.bytes > runLimits.callBytes - overheadBytes) throw new CallRefused('TOO_LARGE', `the file ${fileId} has more than 254 KB`)
      const content = await readContent(files, { tenantId, objectId: file.objectId, bytes: file.bytes })
      if (!content) throw new CallRefused('NOT_FOUND', `the content of the file ${fileId} is missing or damaged`)
      const text = utf8Text(content)
      if (text === undefined) throw new CallRefused('NOT_TEXT', `the file ${fileId} is not UTF-8 text`)
      return { name: file.name, content: text }
    },
  }
}

type Place = Readonly<{ tenantId: string; spaceId: string; caller: PlatformPrincipal | null }>

async function mayEnter({ db }: Pick<Deps, 'db'>, { tenantId, spaceId, caller }: Place): Promise<boolean> {
  if (!caller) return (await findSpace(db, { tenantId, spaceId })) !== undefined
  try {
    await authorizeSpace(db, caller, { spaceId, right: 'enter' })
    return true
  } catch (error) {
    if (isProblem(error, 'NOT_FOUND') || isProblem(error, 'FORBIDDEN')) return false
    throw error
  }
}
