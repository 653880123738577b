import { z } from 'zod'
import { Capability, type Contract, endpoint, platform } from '../contract/index.ts'
import { DisplayName, Locale } from '../users/index.ts'

/** The profile that a user edits. */
export const Profile = z.object({ displayName: z.string().nullable(), avatarUrl: z.string().nullable(), locale: z.string().nullable() })

/** An image in the media of the chat server, or a public one. */
const AvatarUrl = z
  .string()
  .max(500)
  .refine((url) => /^mxc:\/\/[A-Za-z0-9.:[\]-]{1,255}\/[A-Za-z0-9_-]{1,255}$/.test(url) || isPublicImage(url), {
    message: 'must be an mxc:// address of the chat server, or an https:// address without credentials',
  })

function isPublicImage(text: string): boolean {
  if (!/^https:\/\/[\x21-\x7e]+$/.test(text) || !URL.canParse(text)) return false
  const { username, password } = new URL(text)
  return username === '' && password === ''
}

const ChangeProfileBody = z
  .strictObject({
    displayName: DisplayName.nullable().optional(),
    avatarUrl: AvatarUrl.nullable().optional(),
    locale: Locale.nullable().optional(),
  })
  .refine((body) => Object.keys(body).length > 0, 'must change something: displayName, avatarUrl or locale')
  .meta({ minProperties: 1 })

const OwnProfile = Profile.extend({ userId: z.string(), matrixUserId: z.string() })
export type OwnProfile = z.infer<typeof OwnProfile>

const Permissions = z.object({ roles: z.array(z.string()), permissions: z.array(Capability) })

/** Profile and permissions of the calling user. */
export const profileContract = {
  showProfile: endpoint({
    method: 'GET',
    path: '/api/platform/v1/profile',
    auth: platform(),
    returns: OwnProfile,
    summary: 'Show your profile',
  }),
  changeProfile: endpoint({
    method: 'PATCH',
    audit: { none: 'own data of users; their events record it' },
    path: '/api/platform/v1/profile',
    auth: platform(),
    body: ChangeProfileBody,
    returns: OwnProfile,
    summary: 'Change your profile. The display name is synced to the chat when its server accepts writes',
  }),
  showPermissions: endpoint({
    method: 'GET',
    path: '/api/platform/v1/permissions',
    auth: platform(),
    returns: Permissions,
    summary: 'Show your roles and the capabilities they grant',
  }),
} as const satisfies Contract
