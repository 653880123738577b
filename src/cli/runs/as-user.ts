import { bearerOf, type Context, tenantUser } from '../kit/index.ts'

/** The header of the logged-in user, and the key that makes a request safe to repeat. */
export const asUser = async (context: Context, key?: string) => ({
  headers: { ...bearerOf(await tenantUser(context)), ...(key === undefined ? {} : { 'idempotency-key': key }) },
})
