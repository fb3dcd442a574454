-- Submitted, and no turn has answered it yet: an agent may have done so while no sidecar ran.
-- What older versions submitted is not waited for: they relayed words without this mark.
ALTER TABLE deliveries ADD COLUMN unanswered INTEGER NOT NULL DEFAULT 0;
CREATE INDEX deliveries_unanswered ON deliveries (target, seq) WHERE unanswered;
