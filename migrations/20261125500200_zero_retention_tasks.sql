-- A video of a key that keeps nothing: its request is never written (`sent` stays null), and its file is not fetched
-- into the media store but passed on from the vendor.
ALTER TABLE app.video_task ADD COLUMN zero_retention boolean NOT NULL DEFAULT false;
