// Synapse, PostgreSQL and MinIO of a real box: writing probe, versions, accounts, dump and load of the database.
// Reaches them over HTTP and through programs in their containers, and maps failures to problem codes.
// Never decides whether a probe is good enough or when a dump is taken.
export { boxServers } from './box-servers.ts'
