import { authContract } from '../../core/auth/index.ts'
import { type Clock, isoNow } from '../../core/kit/index.ts'
import type { Db } from '../db/index.ts'
import { serveContract } from '../http/index.ts'
import { liveKeys } from './signing-keys.repo.ts'

export const authRoutes = ({ db, clock }: { db: Db; clock: Clock }) =>
  serveContract(authContract, {
    jwks: async () => ({ keys: (await liveKeys(db, isoNow(clock))).map(({ publicKey }) => publicKey) }),
  })
