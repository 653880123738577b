import type { IncomingHttpHeaders } from 'node:http'
import { schoolHeader } from '../../core/school/index.ts'
import { type PageAccess, pageAccess } from '../http/index.ts'

export const schoolAccess = (baseUrl: string): PageAccess =>
  pageAccess(baseUrl, {
    ...{ name: 'school page', path: '/school', header: schoolHeader },
    cookie: { secure: '__Host-tenantry-school', plain: 'tenantry-school' },
  })

/** The platform token in the cookie of a call by the page. Throws VALIDATION beside another credential, FORBIDDEN, CONFIG. */
export const schoolToken =
  (access: PageAccess) =>
  (headers: IncomingHttpHeaders): string | undefined => {
    const token = access.cookieOf(headers)
    if (token === undefined) return undefined
    access.assertServed()
    access.assertHost(headers)
    return token
  }
