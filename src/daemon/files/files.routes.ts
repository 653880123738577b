import { filesContract as contract } from '../../core/files/index.ts'
import type { Clock, Random } from '../../core/kit/index.ts'
import type { Db } from '../db/index.ts'
import { type Served, serve } from '../http/index.ts'
import { createFolder, deleteFolder, listFolders } from './folders.ts'

type Needs = Readonly<{ db: Db; clock: Clock; random: Random }>

export const filesRoutes = (needs: Needs): Served[] => [
  serve(contract.listFolders, ({ actor, params, query }) => listFolders(needs, actor, { ...params, ...query })),
  serve(contract.createFolder, ({ actor, params, body }) => createFolder(needs, actor, { ...params, ...body })),
  serve(contract.deleteFolder, async ({ actor, params }) => {
    await deleteFolder(needs, actor, params)
    return undefined
  }),
]
