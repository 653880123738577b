import { z } from 'zod'
import { Email, shownLine, Timestamp } from '../contract/index.ts'
import { countries } from './countries.ts'

/** ISO 3166-1 alpha-2. */
export const Country = z.enum(countries, 'must be a country code of ISO 3166-1, such as DE')

/** Percent with at most two decimals. */
const FeePercent = z.number().min(0).max(100).multipleOf(0.01, 'must have at most two decimals')

export const defaultFeePercent = 30

/** Fees are stored in hundredths of a percent: 30 % is 3000. */
export const feeHundredths = (percent: number): number => Math.round(percent * 100)

const AccountStatus = z.enum(['pending', 'active', 'restricted'])

export const NewVendor = z.strictObject({
  name: shownLine(120),
  contactEmail: Email,
  country: Country.default('DE'),
  applicationFeePercent: FeePercent.default(defaultFeePercent),
})
export type NewVendor = Readonly<z.infer<typeof NewVendor>>

export const VendorChange = z
  .strictObject({
    name: shownLine(120).optional(),
    contactEmail: Email.optional(),
    country: Country.optional(),
    applicationFeePercent: FeePercent.optional(),
  })
  .refine((change) => Object.values(change).some((value) => value !== undefined), 'must change something')
  .meta({ minProperties: 1 })
export type VendorChange = Readonly<z.infer<typeof VendorChange>>

export const Vendor = z.object({
  id: z.string(),
  name: z.string(),
  contactEmail: z.string(),
  country: z.string(),
  paymentAccountId: z.string().nullable().meta({ description: 'Null until the provider has created the account' }),
  paymentAccountStatus: AccountStatus,
  chargesEnabled: z.boolean(),
  payoutsEnabled: z.boolean(),
  applicationFeePercent: z.number(),
  createdAt: Timestamp,
  updatedAt: Timestamp,
})
export type Vendor = Readonly<z.infer<typeof Vendor>>
