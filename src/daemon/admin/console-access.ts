import type { IncomingHttpHeaders } from 'node:http'
import { backgroundHeader, consoleHeader } from '../../core/admin/index.ts'
import { type PageAccess, pageAccess } from '../http/index.ts'

export type ConsoleAccess = PageAccess

export const consoleAccess = (baseUrl: string): ConsoleAccess =>
  pageAccess(baseUrl, {
    ...{ name: 'web console', path: '/console', header: consoleHeader },
    cookie: { secure: '__Host-tenantry', plain: 'tenantry-console' },
  })

/** True for calls by a person, false for refreshes and streams. */
export const isAttended = (headers: IncomingHttpHeaders): boolean => headers[backgroundHeader] === undefined
