// People of a tenant, administered by the tenant itself, and passwords that are set by the link of a mail.
// It decides who may change whom, which roles a caller gives out, and how many links are sent. It knows no password and sends nothing.
export { type Person, type PersonDetails, peopleContract } from './contract.ts'
export { linkMail } from './mails.ts'
export { maxFormBytes, passwordContract } from './password-contract.ts'
export { type LinkCounts, type LinkKind, linkBounds, linkMs, mayLink, refusalOfRoles, refusalOfUser } from './rules.ts'
