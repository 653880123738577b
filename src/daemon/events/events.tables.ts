type StreamReplicaTable = { replica: string; lease_until: string }

/** How many event streams of a user a replica holds open. */
type StreamPlaceTable = { user_id: string; replica: string; open: number }

declare module '../db/database.ts' {
  interface Tables {
    stream_replicas: StreamReplicaTable
    stream_places: StreamPlaceTable
  }
}
