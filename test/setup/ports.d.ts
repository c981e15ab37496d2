export function freePort(): Promise<number>;
export function refusingPort(): Promise<number>;
