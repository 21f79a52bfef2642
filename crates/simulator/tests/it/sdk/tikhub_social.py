"""The source of social data through its vendor's SDK: every one of the 101 cells by the SDK's own
method, every page where there are pages, and every failure as the SDK's own exception.
"""

import sys

import tikhub
from tikhub import TikHub
from tikhub import _errors as errors

PAGES = 3
ITEMS = 5


def at(value, pointer):
    """The place in a document; None if there is no such place."""
    for name in pointer.split("/")[1:]:
        if isinstance(value, list):
            index = int(name)
            value = value[index] if -len(value) <= index < len(value) else None
        elif isinstance(value, dict):
            value = value.get(name)
        else:
            return None
    return value


class One:
    """A cell that tells of one thing."""

    def __init__(self, cell, method, item, **given):
        self.cell, self.method, self.item, self.given = cell, method, item, given

    def run(self, client):
        told = call(client, self.method, **self.given)
        item = at(told, self.item) if self.item else told
        assert item and isinstance(item, dict), (self.cell, told)
        return 1


class Many:
    """A cell that tells a list: what pages it, and how its end is told."""

    def __init__(self, cell, method, items, carry=None, step=None, more=None, end=None, **given):
        self.cell, self.method, self.items, self.given = cell, method, items, given
        self.carry, self.step, self.more, self.end = carry or {}, step, more, end

    def run(self, client):
        given, seen, pages = dict(self.given), [], 0
        while True:
            told = call(client, self.method, **given)
            items = at(told, self.items)
            if self.step and not items and not self.more and not self.end:
                break
            assert len(items) == ITEMS, (self.cell, told)
            seen += [repr(item) for item in items]
            pages += 1
            if not self.carry and not self.step:
                break
            if self.more and not at(told, self.more):
                break
            if self.end and at(told, self.end):
                break
            for name, pointer in self.carry.items():
                given[name] = at(told, pointer)
            if any(value in (None, "", 0, "no_more") for value in map(given.get, self.carry)):
                break
            if self.step:
                name, by = self.step
                given[name] = type(given[name])(int(given[name]) + by)
            assert pages < 10, (self.cell, given)
        expected = PAGES if self.carry or self.step else 1
        assert (pages, len(set(seen))) == (expected, expected * ITEMS), (self.cell, pages, len(seen))
        return pages


def call(client, method, **given):
    resource, name = method.split(".")
    answer = getattr(getattr(client, resource), name)(**given)
    for field in ("request_id", "message", "message_zh", "support", "time", "time_stamp", "time_zone",
                  "docs", "cache_message", "cache_message_zh", "cache_url", "router", "params", "data"):
        assert field in answer, (method, field)
    assert answer["code"] == 200 and answer["router"].endswith(name), answer
    return answer["data"]


SESSION = {"search_id": "/log_pb/impr_id"}
WECHAT_SEARCH = {"carry": {"cursor": "/cursor"}, "more": "/continue_flag"}
PAGED = {"pagination_token": "/pagination_token"}

CELLS = [
    Many("douyin/search", "douyin_search.fetch_general_search_v1", "/data", keyword="fox", more="/has_more",
         carry={"cursor": "/cursor", "backtrace": "/backtrace", **SESSION}),
    One("douyin/post", "douyin_app_v3.fetch_one_video_by_share_url", "/aweme_detail", share_url="https://v.douyin.com/a/"),
    One("douyin/user", "douyin_app_v3.handler_user_profile", "/user", sec_user_id="MS4wLjABAAAA"),
    Many("douyin/comments", "douyin_app_v3.fetch_video_comments", "/comments", aweme_id="7300000000000000001", count=20,
         carry={"cursor": "/cursor"}, more="/has_more"),
    Many("douyin/user-posts", "douyin_web.fetch_user_post_videos", "/aweme_list", sec_user_id="MS4w", max_cursor="0",
         carry={"max_cursor": "/max_cursor"}, more="/has_more"),
    Many("douyin/trending", "douyin_web.fetch_hot_search_result", "/data/word_list"),
    Many("xiaohongshu/search", "xiaohongshu_app_v2.search_notes", "/data/items", keyword="fox", more="/next_page",
         carry={"page": "/next_page", "search_id": "/search_id", "search_session_id": "/search_session_id"}),
    One("xiaohongshu/post", "xiaohongshu_app_v2.get_image_note_detail", "/data/0/note_list/0", note_id="665f95200000000006005624"),
    One("xiaohongshu/user", "xiaohongshu_app_v2.get_user_info", "/data", share_text="https://xhslink.com/m/1"),
    Many("xiaohongshu/comments", "xiaohongshu_app_v2.get_note_comments", "/data/comments", note_id="665f", index=0,
         carry={"cursor": "/data/cursor", "index": "/data/index"}, more="/data/has_more"),
    Many("xiaohongshu/user-posts", "xiaohongshu_app_v2.get_user_posted_notes", "/data/notes", user_id="61b4",
         carry={"cursor": "/data/notes/-1/cursor"}, more="/data/has_more"),
    Many("kuaishou/search", "kuaishou_app.search_video_v2", "/mixFeeds", keyword="fox", carry={"pcursor": "/pcursor"}),
    One("kuaishou/post", "kuaishou_web.fetch_one_video", "/photo", share_text="https://v.kuaishou.com/a"),
    One("kuaishou/user", "kuaishou_app.fetch_one_user_v2", "/userProfile", user_id="228905802"),
    Many("kuaishou/comments", "kuaishou_app.fetch_video_comment", "/rootComments", photo_id="3x", carry={"pcursor": "/pcursor"}),
    Many("kuaishou/user-posts", "kuaishou_app.fetch_user_post_v2", "/feeds", user_id="2289", sort="hot", carry={"pcursor": "/pcursor"}),
    Many("kuaishou/trending", "kuaishou_web.fetch_kuaishou_hot_list_v1", "/visionHotRank/items"),
    Many("bilibili/search", "bilibili_web.fetch_general_search", "/data/result", keyword="fox", order="totalrank", page=1,
         page_size=20, step=("page", 1)),
    One("bilibili/post", "bilibili_web.fetch_one_video_v3", "/data", url="https://www.bilibili.com/video/BV1a"),
    One("bilibili/user", "bilibili_web.fetch_user_profile", "/data", uid="178360345"),
    Many("bilibili/comments", "bilibili_web.fetch_video_comments", "/data/replies", bv_id="BV1a", pn=1, step=("pn", 1)),
    Many("bilibili/user-posts", "bilibili_web.fetch_user_post_videos", "/data/list/vlist", uid="1", pn=1, ps=20,
         order="pubdate", step=("pn", 1)),
    Many("bilibili/trending", "bilibili_web.fetch_com_popular", "/data/list", pn=1, step=("pn", 1), end="/data/no_more"),
    Many("weibo/search", "weibo_app.fetch_search_all", "/cards", query="fox", page=1, search_type=61, step=("page", 1)),
    One("weibo/post", "weibo_app.fetch_status_detail", "/detailInfo/status", status_id="5088000000000001"),
    One("weibo/user", "weibo_app.fetch_user_info", "/userInfo", uid="7277477906"),
    Many("weibo/comments", "weibo_app.fetch_status_comments", "/items", status_id="5088", sort_type="1",
         carry={"max_id": "/moreInfo/params/max_id"}),
    Many("weibo/user-posts", "weibo_app.fetch_user_timeline", "/items", uid="7277", page=1, filter_type="month",
         month="20260101", step=("page", 1)),
    Many("weibo/trending", "weibo_app.fetch_hot_search_brief", "/data/realtime"),
    Many("zhihu/search", "zhihu_web.fetch_article_search_v3", "/data", keyword="fox", offset="0", limit="5",
         step=("offset", ITEMS), end="/paging/is_end"),
    One("zhihu/post", "zhihu_web.fetch_answer_detail", "", answer_id="1906759000000000001"),
    One("zhihu/user", "zhihu_web.fetch_user_info", "", user_url_token="someone"),
    Many("zhihu/comments", "zhihu_web.fetch_comment_v5", "/data", answer_id="19067", offset="0", step=("offset", ITEMS),
         end="/paging/is_end"),
    Many("zhihu/trending", "zhihu_web.fetch_hot_list", "/data", limit="50", desktop="true"),
    Many("wechat-channels/search", "wechat_search_v2.fetch_search_videos", "/results/data/0/items", keyword="fox",
         duration="short", sort=1, publish_time="week", **WECHAT_SEARCH),
    One("wechat-channels/post", "wechat_channels_v2.fetch_video_detail", "/objects/0", object_id="14000000000000000001"),
    One("wechat-channels/user", "wechat_channels_v2.fetch_user_profile", "", username="v2_06@finder", raw=False),
    Many("wechat-channels/comments", "wechat_channels_v2.fetch_video_comments", "/commentInfo", object_id="14",
         carry={"last_buffer": "/last_buffer"}, more="/downContinueFlag"),
    Many("wechat-channels/user-posts", "wechat_channels_v2.fetch_user_videos", "/videos", username="v2_06@finder", raw=False,
         carry={"last_buffer": "/last_buffer"}, more="/has_more"),
    Many("wechat-mp/search", "wechat_search_v2.fetch_search", "/items", keyword="fox", business_type="article", raw=False,
         **WECHAT_SEARCH),
    One("wechat-mp/post", "wechat_media_platform_v2.fetch_article_detail", "/content", url="https://mp.weixin.qq.com/s/a"),
    One("wechat-mp/user", "wechat_media_platform_v2.fetch_account_profile", "/account", username="gh_0123456789ab"),
    Many("wechat-mp/comments", "wechat_media_platform_v2.fetch_article_comments", "/elected_comment",
         url="https://mp.weixin.qq.com/s/a", carry={"buffer": "/buffer"}, more="/continue_flag"),
    Many("wechat-mp/user-posts", "wechat_media_platform_v2.fetch_account_articles", "/articles", username="gh_01",
         page_size=20, item_show_type=0, raw=False, carry={"offset": "/next_offset"}, end="/is_end"),
    Many("wechat-search/search", "wechat_search_v2.fetch_search", "/results/data/0/items", keyword="fox",
         business_type="all", offset=0, **WECHAT_SEARCH),
    One("toutiao/post", "toutiao_web.get_article_info", "/data", aweme_id="7400000000000000001"),
    One("toutiao/user", "toutiao_app.get_user_info", "/data", user_id="1"),
    Many("toutiao/comments", "toutiao_app.get_comments", "/data", group_id="74", offset="0", carry={"offset": "/offset"},
         more="/has_more"),
    Many("xigua/search", "xigua_app_v2.search_video", "/data", keyword="fox", offset=0, min_duration=1, max_duration=600,
         carry={"offset": "/offset"}, more="/has_more"),
    One("xigua/post", "xigua_app_v2.fetch_one_video", "/data", item_id="7354954305222377999"),
    One("xigua/user", "xigua_app_v2.fetch_user_info", "/data", user_id="1"),
    Many("xigua/comments", "xigua_app_v2.fetch_video_comment_list", "/data", item_id="7354", carry={"offset": "/offset"},
         more="/has_more"),
    Many("xigua/user-posts", "xigua_app_v2.fetch_user_post_list", "/data", user_id="1",
         carry={"max_behot_time": "/next/max_behot_time"}, more="/has_more"),
    Many("pipixia/search", "pipixia_app.fetch_search", "/data/data", keyword="fox", offset="0", search_type="1",
         carry={"offset": "/data/offset"}, more="/data/has_more"),
    One("pipixia/post", "pipixia_app.fetch_post_detail", "/data/item", cell_id="7411193113223371043", cell_type=1),
    One("pipixia/user", "pipixia_app.fetch_user_info", "/data", user_id="1"),
    Many("pipixia/comments", "pipixia_app.fetch_post_comment_list", "/data/cell_comments", cell_id="74", offset="0",
         carry={"offset": "/data/offset"}, more="/data/has_more"),
    Many("pipixia/user-posts", "pipixia_app.fetch_user_post_list", "/data/data", user_id="1", cursor="0",
         carry={"cursor": "/data/cursor"}, more="/data/has_more"),
    Many("pipixia/trending", "pipixia_app.fetch_hot_search_words", "/data/hot_words"),
    Many("tiktok/search", "tiktok_web.fetch_general_search", "/data", keyword="fox", offset=0, more="/has_more",
         carry={"offset": "/cursor", **SESSION}),
    One("tiktok/post", "tiktok_web.fetch_post_detail", "/itemInfo/itemStruct", itemId="7339393672959757570", region="US"),
    One("tiktok/user", "tiktok_web.fetch_user_profile", "/userInfo", uniqueId="someone"),
    Many("tiktok/comments", "tiktok_web.fetch_post_comment", "/comments", aweme_id="73", cursor=0, count=20,
         carry={"cursor": "/cursor"}, more="/has_more"),
    Many("tiktok/user-posts", "tiktok_web.fetch_user_post", "/itemList", secUid="MS4w", cursor=0, count=15, coverFormat=2,
         carry={"cursor": "/cursor"}, more="/hasMore"),
    Many("tiktok/trending", "tiktok_web.fetch_home_feed", "/itemList", count=15, region="US"),
    Many("instagram/search", "instagram_v2.general_search", "/data/items", keyword="fox", carry=PAGED),
    One("instagram/post", "instagram_v1.fetch_post_by_url", "", post_url="https://www.instagram.com/p/a/"),
    One("instagram/user", "instagram_v1.fetch_user_info_by_username", "/data/user", username="someone"),
    Many("instagram/comments", "instagram_v2.fetch_post_comments", "/data/items", code_or_url="a", sort_by="recent", carry=PAGED),
    Many("instagram/user-posts", "instagram_v2.fetch_user_posts", "/data/items", user_id="1", carry=PAGED),
    Many("instagram/trending", "instagram_v3.get_explore", "/items", carry={"max_id": "/next_max_id"}, more="/more_available"),
    Many("youtube/search", "youtube_web_v2.get_general_search_v2", "/videos", keyword="fox", type="video",
         carry={"continuation_token": "/continuation_token"}),
    One("youtube/post", "youtube_web_v2.get_video_info_v2", "/videoDetails", video_id="a", need_format=False),
    One("youtube/user", "youtube_web.get_channel_info", "", channel_id="UCa"),
    Many("youtube/comments", "youtube_web_v2.get_video_comments", "/comments", video_id="a", sort_by="top", need_format=True,
         carry={"continuation_token": "/continuation_token"}),
    Many("youtube/user-posts", "youtube_web_v2.get_channel_videos", "/videos", channel_id="UCa",
         carry={"continuation_token": "/continuation_token"}),
    Many("x/search", "twitter_web.fetch_search_timeline", "/timeline", keyword="fox", search_type="Top", carry={"cursor": "/next_cursor"}),
    One("x/post", "twitter_web.fetch_tweet_detail", "", tweet_id="1808168603721650364"),
    One("x/user", "twitter_web.fetch_user_profile", "", rest_id=44196397),
    Many("x/comments", "twitter_web.fetch_post_comments", "/thread", tweet_id="18", carry={"cursor": "/next_cursor"}),
    Many("x/user-posts", "twitter_web.fetch_user_post_tweet", "/timeline", screen_name="someone", carry={"cursor": "/next_cursor"}),
    Many("x/trending", "twitter_web.fetch_trending", "/trends", country="UnitedStates"),
    Many("reddit/search", "reddit_app.fetch_dynamic_search", "/search/dynamic/components/main/edges", query="fox", sort="HOT",
         carry={"after": "/search/dynamic/components/main/pageInfo/endCursor"},
         more="/search/dynamic/components/main/pageInfo/hasNextPage"),
    One("reddit/post", "reddit_app.fetch_post_details", "/postsInfoByIds/0", post_id="t3_1", include_comment_id=False),
    One("reddit/user", "reddit_app.fetch_user_profile", "/redditorInfoByName", username="someone"),
    Many("reddit/comments", "reddit_app.fetch_post_comments", "/postInfoById/commentForest/trees", post_id="t3_1",
         carry={"after": "/postInfoById/commentForest/pageInfo/endCursor"}),
    Many("reddit/user-posts", "reddit_app.fetch_user_posts", "/postFeed/elements/edges", username="someone", need_format=True,
         carry={"after": "/postFeed/elements/pageInfo/endCursor"}),
    Many("reddit/trending", "reddit_app.fetch_trending_searches", "/trendingSearches", language="en"),
    One("linkedin/post", "linkedin_web_v2.get_post_detail", "", url="https://www.linkedin.com/posts/a"),
    One("linkedin/user", "linkedin_web_v2.get_user_profile", "", url="https://www.linkedin.com/in/a/"),
    Many("linkedin/comments", "linkedin_web_v2.get_post_comments", "/data", urn="7490874650621612032", page=1, carry=PAGED),
    Many("linkedin/user-posts", "linkedin_web_v2.get_user_posts", "/data", url="https://www.linkedin.com/in/a/", type="posts",
         carry={"pagination_token": "/paging/pagination_token", "start": "/paging/start"}),
    Many("threads/search", "threads_web.search_posts", "/searchResults/edges", query="fox"),
    One("threads/post", "threads_web.fetch_post_detail", "/edges/0", post_id="3602618315286915301"),
    One("threads/user", "threads_web.fetch_user_info", "/user", username="someone"),
    Many("threads/user-posts", "threads_web.fetch_user_posts", "/mediaData/edges", user_id="1",
         carry={"end_cursor": "/mediaData/page_info/end_cursor"}, more="/mediaData/page_info/has_next_page"),
    Many("lemon8/search", "lemon8_app.fetch_search", "/data", query="fox", max_cursor="", carry={"max_cursor": "/max_cursor"},
         more="/has_more"),
    One("lemon8/post", "lemon8_app.fetch_post_detail", "/data", item_id="7400000000000000001"),
    One("lemon8/user", "lemon8_app.fetch_user_profile", "/data", user_id="1"),
    Many("lemon8/comments", "lemon8_app.fetch_post_comment_list", "/data", group_id="1", item_id="2", media_id="3", offset="0",
         carry={"offset": "/offset"}, more="/has_more"),
    Many("lemon8/trending", "lemon8_app.fetch_hot_search_keywords", "/data/items"),
]


def raised(kind, act):
    """The exception, which is of this very kind."""
    try:
        told = act()
    except errors.TikHubError as error:
        assert type(error) is kind, (kind, error)
        return error
    raise AssertionError(f"nothing was raised: {told!r:.300}")


def failures(client, hurried):
    search, user = client.douyin_search.fetch_general_search_v1, client.xigua_app_v2.fetch_user_info
    for wish, kind, status in [
        ("400", errors.TikHubBadRequestError, 400),
        ("400_flat", errors.TikHubBadRequestError, 400),
        ("401", errors.TikHubAuthError, 401),
        ("402", errors.TikHubHTTPError, 402),
        ("403", errors.TikHubPermissionError, 403),
        ("404_item", errors.TikHubNotFoundError, 404),
        ("404_path", errors.TikHubNotFoundError, 404),
        ("410", errors.TikHubHTTPError, 410),
        ("422", errors.TikHubBadRequestError, 422),
        ("429:7", errors.TikHubRateLimitError, 429),
        ("500", errors.TikHubServerError, 500),
        ("502", errors.TikHubUpstreamError, 502),
        ("503", errors.TikHubUpstreamError, 503),
        ("marker", errors.TikHubUpstreamError, 502),
    ]:
        text = f"fox [[social:{wish}]]"
        for act in (lambda: search(keyword=text), lambda: user(user_id=text)):
            error = raised(kind, act)
            assert error.status_code == status and error.request_id, error
            if status == 429:
                assert error.retry_after == 7.0 and "x-ratelimit-reset" in error.headers, error.headers
            if wish == "404_path":
                assert error.response_body == {"detail": "Not Found"}
            elif wish == "400_flat":
                assert error.response_body["code"] == 400, error.response_body
            elif wish == "422":
                assert isinstance(error.response_body["detail"], list)
            else:
                assert error.response_body["detail"]["code"] == status, error.response_body
    raised(errors.TikHubTimeoutError, lambda: hurried.xigua_app_v2.fetch_user_info(user_id="[[social:hang]]"))
    raised(errors.TikHubTimeoutError, lambda: hurried.xigua_app_v2.fetch_user_info(user_id="[[social:slow:5000]]"))
    raised(errors.TikHubConnectionError, lambda: user(user_id="[[social:close]]"))
    raised(errors.TikHubConnectionError, lambda: user(user_id="[[social:cut]]"))
    # What the SDK cannot read it gives back as text.
    assert user(user_id="[[social:html]]").startswith("<html>")


def oddities(client):
    user = client.xigua_app_v2.fetch_user_info
    assert user(user_id="[[social:empty]]")["data"]["data"] == {}
    assert user(user_id="[[social:null]]")["data"]["data"] is None
    assert user(user_id="[[social:inner]]")["data"]["BaseResp"]["StatusCode"] != 0
    assert "code" not in user(user_id="[[social:no_code]]")
    assert user(user_id="[[social:code_400_in_200]]")["code"] == 400
    assert "data" not in user(user_id="[[social:no_data]]")
    assert user(user_id="[[social:scalar]]")["data"] == 7
    assert isinstance(user(user_id="[[social:array]]")["data"], list)
    assert len(user(user_id="[[social:big]]")["data"]["long_text"]) == 5_000_000
    # An id that a float would spoil comes through whole.
    note = client.pipixia_app.fetch_post_detail(cell_id="1")["data"]["data"]["item"]
    assert note["item_id"] > 2**53 and int(float(note["item_id"])) != note["item_id"]


def refusals(client, root):
    search = client.douyin_search.fetch_general_search_v1
    stranger = TikHub(api_key="nobody", base_url=root, max_retries=1)
    error = raised(errors.TikHubAuthError, lambda: stranger.xigua_app_v2.fetch_user_info(user_id="1"))
    assert error.response_body["detail"]["code"] == 401
    path = "/api/v1/douyin/search/fetch_general_search_v1"
    error = raised(errors.TikHubHTTPError, lambda: client._request("GET", path))
    assert (error.status_code, error.response_body) == (405, {"detail": "Method Not Allowed"})
    error = raised(errors.TikHubNotFoundError, lambda: client._request("GET", "/api/v1/douyin/web/nothing"))
    assert error.response_body == {"detail": "Not Found"}
    for given, place in [({"keyword": 7}, ["body", "keyword"]), ({"keyword": "fox", "cursor": "7"}, ["body", "cursor"])]:
        error = raised(errors.TikHubBadRequestError, lambda: search(**given))
        assert error.status_code == 422 and error.response_body["detail"][0]["loc"] == place, error.response_body
    error = raised(errors.TikHubBadRequestError, lambda: client._request("GET", "/api/v1/weibo/app/fetch_user_info"))
    assert error.response_body["detail"][0]["type"] == "missing", error.response_body
    wechat = client.wechat_search_v2.fetch_search
    error = raised(errors.TikHubBadRequestError, lambda: wechat(keyword="fox", sort="sideways"))
    assert error.status_code == 400
    error = raised(errors.TikHubBadRequestError, lambda: search(keyword="fox", cursor=9223372036854775807))
    assert error.status_code == 400
    # Without the first page's search_id a later page is the first again.
    first = search(keyword="fox")["data"]
    assert search(keyword="fox", cursor=first["cursor"])["data"] == first
    assert wechat(keyword="fox", offset=20)["data"] == wechat(keyword="fox")["data"]


def account(client):
    path = "/api/v1/instagram/v2/general_search"
    told = client.tikhub_user.get_endpoint_info(endpoint=path)["data"]
    assert (told["endpoint_uri"], told["endpoint_cost"]) == (path, 0.002), told
    raised(errors.TikHubNotFoundError, lambda: client.tikhub_user.get_endpoint_info(endpoint="/api/v1/none"))
    assert len(client.tikhub_user.get_all_endpoints_info()["data"]) == 100
    before = client.tikhub_user.get_user_info()["user_data"]["balance"]
    client.instagram_v2.general_search(keyword="fox")
    raised(errors.TikHubBadRequestError, lambda: client.instagram_v2.general_search(keyword="[[social:400]]"))
    after = client.tikhub_user.get_user_info()["user_data"]["balance"]
    assert round(before - after, 6) == 0.002, (before, after)
    assert client.health_check.check()["status"] == "ok"


def main():
    root, key = sys.argv[1:3]
    assert tikhub.__version__ == "2.2.0", tikhub.__version__
    client = TikHub(api_key=key, base_url=root, max_retries=1)
    hurried = TikHub(api_key=key, base_url=root, max_retries=1, timeout=0.5)
    names = [cell.cell for cell in CELLS]
    assert len(names) == len(set(names)) == 101, len(names)
    pages = sum(cell.run(client) for cell in CELLS)
    print(f"{len(names)} cells, {pages} pages")
    failures(client, hurried)
    oddities(client)
    refusals(client, root)
    account(client)


if __name__ == "__main__":
    main()
