/**
 * Types of a Tenantry module of type A, module interface 1.0.0. A module runs in a sandbox: no Node.js, no network, no timers, no `Date`.
 * Use them in plain JavaScript by a JSDoc comment: @type {import("./types/module.d.ts").Handlers}
 */

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json }

/** An error of a call has a `code`: PERMISSION, ARGUMENT, NOT_FOUND, NOT_ALLOWED, NOT_TEXT, TOO_LARGE, QUOTA_EXCEEDED, RATE_LIMITED or UNKNOWN_CALL. */
export interface CallError extends Error {
  code: string
}

export interface Document {
  key: string
  value: Json
}

export interface Space {
  id: string
  name: string
  type: string
  visibility: string
}

export interface File {
  id: string
  name: string
  spaceId: string
  bytes: number
}

/** Everything that a module can do. Each call counts: at most 200 in a run, 256 KB each way. */
export interface Svc {
  /** Documents of this module in this tenant: 50 MB in all. */
  readonly data: {
    /** Null if there is no such document. */
    get(key: string): Promise<Json>
    put(key: string, value: Json): Promise<void>
    delete(key: string): Promise<void>
    /** In the order of their keys; at most 1,000. `after`: the last key of the page before. */
    list(options?: { prefix?: string; limit?: number; after?: string }): Promise<Document[]>
  }
  /** Permission `events:publish`. The name must be declared in the manifest; the payload has at most 16 KB. */
  readonly events: { publish(name: string, payload?: Json, options?: { spaceId?: string }): Promise<void> }
  /** Permission `spaces:read`. In `handle`: the spaces of the calling user. */
  readonly spaces: { list(): Promise<Space[]> }
  readonly files: {
    /** Permission `files:read`. */
    list(spaceId: string): Promise<File[]>
    /** Permission `files:read`. The content as text. */
    read(fileId: string): Promise<{ name: string; content: string }>
    /** Permission `files:write`. */
    write(file: { spaceId: string; name: string; content: string }): Promise<{ id: string }>
  }
  /** At most 100 lines of 1,000 characters in a run. */
  log(...words: unknown[]): void
  /** Values of the settings in the manifest. */
  readonly settings: { readonly [name: string]: Json }
  /** The time of the run, ISO 8601. There is no other time. */
  readonly now: string
}

export interface ModuleEvent {
  readonly type: string
  /** Of an event of the platform: ids only. Of another module: what it published. */
  readonly payload: { readonly [name: string]: Json }
  readonly at?: string
  readonly seq?: number
}

export interface ModuleRequest {
  readonly method: string
  /** Relative to the `apiPrefix` of the module; begins with a slash. */
  readonly path: string
  readonly query?: { readonly [name: string]: string }
  readonly headers?: { readonly [name: string]: string }
  readonly body?: Json
  readonly user?: { readonly userId: string; readonly roles: readonly string[] }
}

export interface ModuleResponse {
  /** Default 200. */
  status?: number
  headers?: { [name: string]: string }
  body?: Json
}

/** `export const on`: a function for each event type that the manifest subscribes to. */
export type Handlers = { [eventType: string]: (event: ModuleEvent, svc: Svc) => void | Promise<void> }
/** `export const handle`: answers requests, with `routes: true` in the manifest. */
export type Handle = (request: ModuleRequest, svc: Svc) => ModuleResponse | Promise<ModuleResponse>
/** `export const migrations`: one function for each step of `dataVersion`. */
export type Migrations = ((svc: Svc) => void | Promise<void>)[]
