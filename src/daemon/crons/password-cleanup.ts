import { type Clock, plural } from '../../core/kit/index.ts'
import type { Db, Tx } from '../db/index.ts'
import { type DefinedJob, defineJob } from './job.ts'

type Cleaned = Readonly<{ initialPasswords: number; apiTokens: number; sessions: number }>

/** What has ended is deleted by the rooms that own it. */
type Deps = Readonly<{
  db: Db
  clock: Clock
  cleanExpiredCredentials(tx: Tx, clock: Clock): Promise<Cleaned>
  deleteEndedInvites(deps: { db: Db; clock: Clock }): Promise<number>
}>

export const passwordCleanup = ({ db, clock, cleanExpiredCredentials, deleteEndedInvites }: Deps): DefinedJob =>
  defineJob({
    key: 'admin-password-cleanup',
    expression: '0 4 * * *',
    description: 'Deletes expired one-time initial passwords, API tokens, sessions and enrolment tokens',
    run: async () => {
      const { initialPasswords, apiTokens, sessions } = await db.transaction().execute((tx) => cleanExpiredCredentials(tx, clock))
      const invites = await deleteEndedInvites({ db, clock })
      const counts = [
        plural(initialPasswords, 'initial password'),
        plural(apiTokens, 'API token'),
        plural(sessions, 'session'),
        plural(invites, 'enrolment token'),
      ]
      return `deleted ${counts.join(', ')}`
    },
  })
