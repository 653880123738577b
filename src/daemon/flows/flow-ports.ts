import type { Homeservers } from '../../core/homeserver/index.ts'
import type { Clock, Random } from '../../core/kit/index.ts'
import type { Db } from '../db/index.ts'
import { eraseFilesOf, type FilesDeps, storeFile } from '../files/index.ts'
import { storeReport } from '../reports/index.ts'
import { roomsOfMember, roomsOfTenant } from '../spaces/index.ts'
import type { BoardsDeps } from './boards/deps.ts'
import type { RunsDeps } from './runs/deps.ts'
import { unfinishedRun } from './runs/runs.repo.ts'
import { sendRunMessage } from './runs/send-messages.ts'
import { startBoardRun } from './runs/start-run.ts'
import type { TriggersDeps } from './triggers/deps.ts'
import { triggersOfBoards } from './triggers/triggers-of-boards.ts'

type Deps = Readonly<{ db: Db; clock: Clock; random: Random; homeservers: Homeservers; timeZone: string; files: FilesDeps }>

type Ports = Pick<BoardsDeps, 'roomsOf' | 'ownRoomsOf' | 'triggerPlace' | 'replaceTriggers'> &
  Pick<RunsDeps, 'sendMessage' | 'storeReport' | 'storeFile' | 'eraseFiles'> &
  Pick<TriggersDeps, 'startRun' | 'unfinishedRun'>

/** Joins the parts of flows to each other, to spaces and to files. */
export const flowPorts = (deps: Deps): Ports => ({
  ...triggersOfBoards(deps),
  roomsOf: roomsOfTenant,
  ownRoomsOf: roomsOfMember,
  sendMessage: sendRunMessage(deps),
  storeReport: (report) => storeReport(deps.files, report),
  storeFile: (file) => storeFile(deps.files, file),
  eraseFiles: (tenantId, files) => eraseFilesOf(deps.files, tenantId, files),
  startRun: async (tx, { startedBy: by, ...run }) => (await startBoardRun(deps, tx, { ...run, by })).run,
  unfinishedRun,
})
