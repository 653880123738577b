import { bundleContract, boardsContract as contract, operatorBoardsContract } from '../../../core/boards/index.ts'
import { serveContract } from '../../http/index.ts'
import type { BoardsDeps } from './deps.ts'
import {
  checkTenantBoard,
  exportTenantBoard,
  importTenantBoard,
  listTenantBoards,
  showTenantBoard,
  simulateTenantBoard,
} from './operate-boards.ts'
import { archiveBoard, checkBoard, publishBoard } from './publish-board.ts'
import { createBoard, deleteBoard, saveBoard } from './save-board.ts'
import { listBoards, listVersions, showBoard, showVersion } from './show-boards.ts'
import { exportBoard, importBoard, simulateBoard } from './transfer-board.ts'

export const boardsRoutes = (deps: BoardsDeps) => [
  ...serveContract(contract, {
    listBoards: ({ actor, query }) => listBoards(deps, actor, query),
    createBoard: ({ actor, body }) => createBoard(deps, actor, body),
    showBoard: ({ actor, params }) => showBoard(deps, actor, params),
    saveBoard: ({ actor, params, body }) => saveBoard(deps, actor, { ...params, ...body }),
    deleteBoard: async ({ actor, params }) => {
      await deleteBoard(deps, actor, params)
      return undefined
    },
    checkBoard: ({ actor, params }) => checkBoard(deps, actor, params),
    publishBoard: ({ actor, params }) => publishBoard(deps, actor, params),
    archiveBoard: ({ actor, params }) => archiveBoard(deps, actor, params),
    listBoardVersions: ({ actor, params, query }) => listVersions(deps, actor, { ...params, ...query }),
    showBoardVersion: ({ actor, params }) => showVersion(deps, actor, params),
  }),
  ...serveContract(bundleContract, {
    exportBoard: ({ actor, params }) => exportBoard(deps, actor, params),
    importBoard: ({ actor, body }) => importBoard(deps, actor, body),
    simulateBoard: ({ actor, params, body }) => simulateBoard(deps, actor, { ...params, script: body }),
  }),
  ...serveContract(operatorBoardsContract, {
    listTenantBoards: ({ params, query }) => listTenantBoards(deps, { ...params, ...query }),
    importTenantBoard: ({ actor, params, body }) => importTenantBoard(deps, actor, { ...params, ...body }),
    showTenantBoard: ({ params, query }) => showTenantBoard(deps, { ...params, ...query }),
    checkTenantBoard: ({ params }) => checkTenantBoard(deps, params),
    exportTenantBoard: ({ actor, params }) => exportTenantBoard(deps, actor, params),
    simulateTenantBoard: ({ actor, params, body }) => simulateTenantBoard(deps, actor, { ...params, script: body }),
  }),
]
