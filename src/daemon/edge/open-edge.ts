import type { Express } from 'express'
import type { Clock } from '../../core/kit/index.ts'
import type { Logger } from '../../node/index.ts'
import type { Revocations } from '../auth/index.ts'
import type { Config } from '../config/index.ts'
import type { Db } from '../db/index.ts'
import { clientPaths } from '../http/index.ts'
import { crossOrigin } from './cross-origin.ts'
import { tenantHosts } from './tenant-hosts.ts'
import { recordUntrusted } from './untrusted-forwarding.ts'

type Deps = Readonly<{ config: Config; db: Db; clock: Clock; log: Logger; revocations: Revocations }>

/** Installs the handlers before all limits, so that a browser can read a rejection too. */
export type EdgeSide = Readonly<{ outermost(app: Express): void }>

export function openEdge({ config, db, clock, log, revocations }: Deps): EdgeSide {
  const cors = crossOrigin({
    nativeOrigins: config.cors.nativeOrigins,
    isChatHost: tenantHosts({ db, revocations }),
    failed: (err) => log.warn({ err }, 'the tenants cannot be read: browsers block this response'),
  })
  const untrusted = recordUntrusted({
    clock,
    dataDir: config.dataDir,
    publish: ({ peer, header }) =>
      log.warn({ peer, header }, 'ignored a forwarding header of an untrusted peer; details: tenantryd doctor'),
    failed: (err) => log.debug({ err }, 'an untrusted forwarding header could not be stored for the doctor'),
  })
  return {
    outermost: (app) => {
      app.use(untrusted)
      app.use([...clientPaths], cors)
    },
  }
}
