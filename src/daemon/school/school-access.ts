import { schoolHeader } from '../../core/school/index.ts'
import { type PageAccess, pageAccess } from '../http/index.ts'

export const schoolAccess = (baseUrl: string): PageAccess =>
  pageAccess(baseUrl, {
    ...{ name: 'school page', path: '/school', header: schoolHeader },
    cookie: { secure: '__Host-tenantry-school', plain: 'tenantry-school' },
  })
